-- Ids are compared byte by byte, which MariaDB must be told.
CREATE TABLE orders (
    voucher  VARCHAR(128) NOT NULL,
    sale     BIGINT       NOT NULL,
    order_id VARCHAR(128) NOT NULL,
    user_id  VARCHAR(128) NOT NULL,
    units    BIGINT       NOT NULL,
    state    VARCHAR(16)  NOT NULL,
    payment  VARCHAR(128),
    PRIMARY KEY (voucher, sale, order_id)
)${bytewise};

-- What is to be paid back, and for how many units. An operator decides on an unmatched one: if it
-- turns out to be late or a duplicate, that is another row.
CREATE TABLE refunds (
    event    VARCHAR(512) NOT NULL PRIMARY KEY,
    payment  VARCHAR(128) NOT NULL,
    order_id VARCHAR(128) NOT NULL,
    units    BIGINT       NOT NULL,
    reason   VARCHAR(16)  NOT NULL
)${bytewise};
