package io.github.seckill.samples.shop;

/** The same with rows in MariaDB. */
@OnMariaDb
class MariaDbBuyersTest extends BuyersTest {}
