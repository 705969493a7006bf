<?php
// probe.php PORT default|once WORD...: one command by phpredis' RedisCluster.
[, $port, , $words] = [null, $argv[1], $argv[2], array_slice($argv, 3)];
try {
    $cluster = new RedisCluster(null, ["127.0.0.1:$port"], 5, 0.3);
    $reply = $cluster->rawCommand($words[1], ...$words);
    $error = $cluster->getLastError();
    echo $error === null ? 'reply ' . json_encode($reply) : "error $error", "\n";
} catch (Exception $e) {
    echo 'error ', $e->getMessage(), "\n";
}
usleep((int) (1e6 * (float) (getenv('STAY') ?: '0')));
