#!/usr/bin/env bash
# MyBatis-Plus with its plugin for optimistic locks: two requests read a stock of version 0, the first one writes 100, and the
# second one tries to write 4, by updateById of an object with @Version, which says false. It tries again, or writes in a batch.
# Guess: it says false again, until the stock is read anew; updateBatchById says false if a row was not written.
# Seen with MyBatis-Plus 3.5.17: the try that failed has raised the version in the object, so the next one has the other
# request's, passes, and the 100 are lost. updateBatchById says true if one row of many was written; the version of the others
# is raised, too, so a second batch overwrites what the first one left.
. "$(dirname "$0")/common.sh"
java_program com.baomidou:mybatis-plus-spring:3.5.17 com.baomidou:mybatis-plus-extension:3.5.17 org.mybatis:mybatis-spring:3.0.5 \
    org.springframework:spring-context:6.2.12 org.springframework:spring-jdbc:6.2.12 org.slf4j:slf4j-api:2.0.17 \
    com.h2database:h2:2.4.240 <<'JAVA'
import com.baomidou.mybatisplus.annotation.IdType;
import com.baomidou.mybatisplus.annotation.TableId;
import com.baomidou.mybatisplus.annotation.Version;
import com.baomidou.mybatisplus.core.MybatisConfiguration;
import com.baomidou.mybatisplus.core.mapper.BaseMapper;
import com.baomidou.mybatisplus.extension.plugins.MybatisPlusInterceptor;
import com.baomidou.mybatisplus.extension.plugins.inner.OptimisticLockerInnerInterceptor;
import com.baomidou.mybatisplus.spring.service.impl.ServiceImpl;
import com.baomidou.mybatisplus.spring.MybatisSqlSessionFactoryBean;
import java.util.List;
import org.h2.jdbcx.JdbcDataSource;
import org.mybatis.spring.SqlSessionTemplate;
import org.springframework.jdbc.core.JdbcTemplate;

public class Probe {
    public static class Stock {
        @TableId(type = IdType.INPUT)
        private Integer id;
        private Integer units;
        @Version
        private Integer version;

        Stock write(int units) {
            this.units = units;
            return this;
        }
    }

    public interface Stocks extends BaseMapper<Stock> {}

    static class Service extends ServiceImpl<Stocks, Stock> {
        Service(Stocks stocks) {
            baseMapper = stocks;
        }
    }

    public static void main(String[] args) throws Exception {
        var shop = new JdbcDataSource();
        shop.setURL("jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1");
        var sql = new JdbcTemplate(shop);
        sql.execute("CREATE TABLE stock (id INT PRIMARY KEY, units INT, version INT)");
        for (int id : new int[] {1, 2, 3}) sql.update("INSERT INTO stock VALUES (?, 5, 0)", id);
        var configuration = new MybatisConfiguration();
        configuration.addMapper(Stocks.class);
        var locks = new MybatisPlusInterceptor();
        locks.addInnerInterceptor(new OptimisticLockerInnerInterceptor());
        var factory = new MybatisSqlSessionFactoryBean();
        factory.setDataSource(shop);
        factory.setConfiguration(configuration);
        factory.setPlugins(locks);
        var stocks = new Service(new SqlSessionTemplate(factory.getObject()).getMapper(Stocks.class));
        List<Stock> first = stocks.list();
        List<Stock> second = stocks.list();
        first.forEach(stock -> stocks.updateById(stock.write(100)));
        String units = "SELECT units FROM stock ORDER BY id";
        Stock stale = second.get(0).write(4);
        System.out.println("said one: " + stocks.updateById(stale) + " " + stocks.updateById(stale));
        List<Stock> batch = List.of(first.get(1).write(99), second.get(2).write(4));
        System.out.println("said batch: " + stocks.updateBatchById(batch) + " " + sql.queryForList(units, Integer.class));
        System.out.println("said again: " + stocks.updateBatchById(batch) + " " + sql.queryForList(units, Integer.class));
        Runtime.getRuntime().halt(0);
    }
}
JAVA
probe | grep -o "said .*" >"$folder/said"
told() { grep "^said $1:" "$folder/said" | cut -d' ' -f3-; }
seen "updateById of a stale object, twice" "false true" "$(told one)"
seen "updateBatchById of a fresh and a stale one, and the units of all" "true [4, 99, 100]" "$(told batch)"
seen "once more" "true [4, 99, 4]" "$(told again)"
verdict
