#!/usr/bin/env bash
# Maven and Redisson's starter: a shop depends on redisson-spring-boot-starter, and on a library that depends on
# spring-boot-starter-data-redis, which brings Lettuce.
# Guess: Lettuce is on the class path. That Redisson's starter excludes it concerns what comes by Redisson's starter.
# Seen with Maven 3.8.7, Redisson 3.52.0 and Spring Boot 3.5.16: the order of the two decides. With Redisson's starter first,
# its spring-boot-starter-data-redis is the one for both, with the exclusion: no Lettuce, without a word. With the library
# first there is.
. "$(dirname "$0")/common.sh"
mkdir "$folder/library" "$folder/shop"
project() { # name packaging; its dependencies or modules are read
    echo "<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>$1</artifactId><version>1</version>"
    echo "<packaging>$2</packaging>$(cat)</project>"
}
of() { # group artifact version
    echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId><version>$3</version></dependency>"
}
project all pom >"$folder/pom.xml" <<<"<modules><module>library</module><module>shop</module></modules>"
redis=$(of org.springframework.boot spring-boot-starter-data-redis 3.5.16)
project library pom >"$folder/library/pom.xml" <<<"<dependencies>$redis</dependencies>"
redisson=$(of org.redisson redisson-spring-boot-starter 3.52.0)
library="<dependency><groupId>x</groupId><artifactId>library</artifactId><version>1</version><type>pom</type></dependency>"

lettuce() { # dependencies
    project shop jar >"$folder/shop/pom.xml" <<<"<dependencies>$1</dependencies>"
    (cd "$folder" && mvn -q -B -Dstyle.color=never dependency:build-classpath -pl shop -am -Dmdep.outputFile="$folder/cp" >/dev/null)
    grep -o 'lettuce-core' "$folder/cp" | sort -u | wc -l
}
seen "Lettuce, with Redisson's starter first" 0 "$(lettuce "$redisson$library")"
seen "Lettuce, with the library first" 1 "$(lettuce "$library$redisson")"
verdict
