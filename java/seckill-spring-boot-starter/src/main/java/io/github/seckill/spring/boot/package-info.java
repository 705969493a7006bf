/** Auto-configuration for Spring Boot 3 and 4. */
@NullMarked
package io.github.seckill.spring.boot;

import org.jspecify.annotations.NullMarked;
