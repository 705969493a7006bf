package io.github.seckill.spring.boot;

import io.github.seckill.client.jedis.JedisTransport;
import io.github.seckill.spring.boot.LifecycleTransport.Opened;
import java.util.Collection;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.jspecify.annotations.Nullable;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisNode;
import org.springframework.data.redis.connection.RedisPassword;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.jedis.JedisClientConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.providers.ClusterConnectionProvider;
import redis.clients.jedis.providers.ConnectionProvider;
import redis.clients.jedis.providers.PooledConnectionProvider;
import redis.clients.jedis.providers.SentineledConnectionProvider;

/**
 * A pool with the settings of a connection factory of Jedis, since the factory's own gives no
 * connection away that a lock could keep. As many commands are under way at once as the factory's
 * pool has connections; locks come on top.
 */
final class JedisSettings {
    private JedisSettings() {}

    static Opened open(JedisConnectionFactory factory) {
        int most = factory.getPoolConfig() == null ? 8 : factory.getPoolConfig().getMaxTotal();
        int commandsAtOnce = most > 0 ? most : GenericObjectPoolConfig.DEFAULT_MAX_TOTAL;
        GenericObjectPoolConfig<Connection> pool = new GenericObjectPoolConfig<>();
        pool.setMaxTotal(-1);
        pool.setMaxIdle(commandsAtOnce);
        ConnectionProvider provider = provider(factory, pool);
        return new Opened(JedisTransport.of(provider, commandsAtOnce), provider);
    }

    private static ConnectionProvider provider(
            JedisConnectionFactory factory, GenericObjectPoolConfig<Connection> pool) {
        RedisClusterConfiguration cluster = factory.getClusterConfiguration();
        if (cluster != null) {
            JedisClientConfig config =
                    config(factory, cluster.getUsername(), cluster.getPassword()).build();
            return new ClusterConnectionProvider(
                    addresses(cluster.getClusterNodes()), config, pool);
        }
        RedisSentinelConfiguration sentinels = factory.getSentinelConfiguration();
        if (sentinels != null) {
            return sentineled(factory, sentinels, pool);
        }
        var server = factory.getStandaloneConfiguration();
        if (server == null) {
            throw new IllegalStateException("the Jedis factory names no server");
        }
        JedisClientConfig config =
                config(factory, server.getUsername(), server.getPassword())
                        .database(factory.getDatabase())
                        .build();
        HostAndPort address = new HostAndPort(server.getHostName(), server.getPort());
        return new PooledConnectionProvider(address, config, pool);
    }

    private static ConnectionProvider sentineled(
            JedisConnectionFactory factory,
            RedisSentinelConfiguration sentinels,
            GenericObjectPoolConfig<Connection> pool) {
        if (sentinels.getMaster() == null) {
            throw new IllegalStateException("the Jedis factory names no primary of the sentinels");
        }
        JedisClientConfig primary =
                config(factory, sentinels.getUsername(), sentinels.getPassword())
                        .database(factory.getDatabase())
                        .build();
        JedisClientConfig sentinel =
                config(factory, sentinels.getSentinelUsername(), sentinels.getSentinelPassword())
                        .build();
        return new SentineledConnectionProvider(
                sentinels.getMaster().getName(),
                primary,
                pool,
                addresses(sentinels.getSentinels()),
                sentinel);
    }

    private static Set<HostAndPort> addresses(Collection<RedisNode> nodes) {
        return nodes.stream()
                .map(node -> new HostAndPort(node.getHost(), node.getPort()))
                .collect(Collectors.toSet());
    }

    private static DefaultJedisClientConfig.Builder config(
            JedisConnectionFactory factory,
            @Nullable String user,
            RedisPassword password) {
        JedisClientConfiguration client = factory.getClientConfiguration();
        DefaultJedisClientConfig.Builder config =
                DefaultJedisClientConfig.builder()
                        .connectionTimeoutMillis((int) client.getConnectTimeout().toMillis())
                        .socketTimeoutMillis((int) client.getReadTimeout().toMillis())
                        .ssl(client.isUseSsl());
        client.getSslSocketFactory().ifPresent(config::sslSocketFactory);
        client.getSslParameters().ifPresent(config::sslParameters);
        client.getHostnameVerifier().ifPresent(config::hostnameVerifier);
        client.getClientName().ifPresent(config::clientName);
        if (user != null) {
            config.user(user);
        }
        password.toOptional().map(String::new).ifPresent(config::password);
        return config;
    }
}
