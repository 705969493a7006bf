/* A flash sale and a lock by hiredis. Runs on a new server that has the module. */

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An id is a string: never let atoi, strtod or %d near it. */
#define ORDER_ID "9007199254740993"

static const char *const OUTCOMES[] = {
    "accepted", "sold out", "at the limit", "not started", "ended", "released",
};

static void fail(const char *what) {
    fprintf(stderr, "shop: %s\n", what);
    exit(1);
}

static redisContext *connect_with(int read_timeout_s) {
    const char *url = getenv("REDIS_URL");
    char host[256] = "127.0.0.1";
    int port = 6379;
    if (url != NULL && sscanf(url, "redis://%255[^:/]:%d", host, &port) < 1) fail("REDIS_URL");

    struct timeval timeout = {.tv_sec = read_timeout_s};
    redisContext *connection = redisConnectWithTimeout(host, port, timeout);
    if (connection == NULL || connection->err) fail("no connection");
    redisSetTimeout(connection, timeout);
    return connection;
}

/*
 * Sends a command and returns its reply, which the caller frees. %s takes a text up to its first
 * zero byte; %b with a length takes any bytes.
 */
static redisReply *ask(redisContext *connection, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(connection, format, arguments);
    va_end(arguments);
    if (reply == NULL) fail(connection->errstr);
    if (reply->type == REDIS_REPLY_ERROR) fail(reply->str);
    return reply;
}

static long long integer(redisReply *reply) {
    if (reply->type != REDIS_REPLY_INTEGER) fail("this reply should be an integer");
    long long value = reply->integer;
    freeReplyObject(reply);
    return value;
}

/* A value of a map. hiredis of the distribution speaks RESP2: names and values in turn. */
static const redisReply *value_of(const redisReply *map, const char *name) {
    for (size_t i = 0; i + 1 < map->elements; i += 2)
        if (strcmp(map->element[i]->str, name) == 0) return map->element[i + 1];
    fail(name);
    return NULL;
}

/*
 * Tries until there is an answer, and returns the outcome. Adds to *unanswered the tries that had
 * none.
 *
 * Sending a try again is safe because the voucher is managed and the order id is the same: a try
 * that was accepted is answered 0 again, and makes no second order. After an error hiredis leaves
 * the connection unusable: it is freed, and with it a reply that comes too late.
 */
static long long buy(redisContext **sale, const char *voucher, const char *user,
                     const char *order_id, int *unanswered) {
    for (int attempt = 1; attempt <= 10; attempt++) {
        redisReply *reply = redisCommand(*sale, "SECKILL.TRY %s %s %s", voucher, user, order_id);
        if (reply != NULL && reply->type == REDIS_REPLY_ERROR) fail(reply->str);
        if (reply != NULL) return integer(reply);
        ++*unanswered;
        usleep(50000 * attempt);
        redisFree(*sale);
        *sale = connect_with(1);
    }
    fail("no answer, see SECKILL.STATUS before giving up");
    return -1;
}

static void sell(redisContext **sale) {
    int unanswered = 0;
    freeReplyObject(ask(*sale, "SECKILL.CREATE 7 2 HOLD 60000"));

    /* For the show: the server answers no write for longer than the sale's read time-out. */
    freeReplyObject(ask(*sale, "CLIENT PAUSE 1500 WRITE"));
    long long outcome = buy(sale, "7", "alice", ORDER_ID, &unanswered);
    printf("alice tries: %s%s\n", OUTCOMES[outcome], unanswered ? ", after a time-out" : "");

    outcome = buy(sale, "7", "alice", ORDER_ID, &unanswered);
    printf("the same try again: %s\n", OUTCOMES[outcome]);
    outcome = buy(sale, "7", "alice", "1002", &unanswered);
    printf("another try of hers: %s\n", OUTCOMES[outcome]);

    /* With * one round trip makes the id too. Such a try can't be sent again: who got no answer
       doesn't know the id, and asks SECKILL.STATUS. */
    redisReply *bobs = ask(*sale, "SECKILL.TRY 7 bob *");
    printf("bob tries, the server makes the id: %s\n", OUTCOMES[bobs->element[0]->integer]);
    outcome = buy(sale, "7", "carol", "1003", &unanswered);
    printf("carol tries: %s\n", OUTCOMES[outcome]);

    static const char *const paid[] = {"no such order", "confirmed", "paid before", "too late"};
    /* A payment names its sale: a late one never pays an order of the next sale. */
    redisReply *held = ask(*sale, "SECKILL.ORDER 7 " ORDER_ID);
    long long sale_id = value_of(held, "sale")->integer;
    freeReplyObject(held);
    printf("alice pays: %s\n",
           paid[integer(ask(*sale, "SECKILL.CONFIRM 7 alice " ORDER_ID " SALE %lld", sale_id))]);
    static const char *const cancelled[] = {"no such order", "released", "already released"};
    const redisReply *id = bobs->element[1];
    redisReply *cancel = ask(*sale, "SECKILL.CANCEL 7 bob %b", id->str, (size_t)id->len);
    printf("bob cancels: %s\n", cancelled[integer(cancel)]);
    freeReplyObject(bobs);

    redisReply *order = ask(*sale, "SECKILL.ORDER 7 " ORDER_ID);
    printf("order " ORDER_ID ": %s, %lld unit, %s\n", value_of(order, "user")->str,
           value_of(order, "units")->integer, value_of(order, "state")->str);
    freeReplyObject(order);
    redisReply *info = ask(*sale, "SECKILL.INFO 7");
    printf("sale: %lld left, %lld held, %lld sold, %lld orders in the stream\n",
           value_of(info, "left")->integer, value_of(info, "held")->integer,
           value_of(info, "sold")->integer, integer(ask(*sale, "XLEN stream.orders")));
    freeReplyObject(info);
}

/* A token that no other holder has. */
static void make_token(char token[33]) {
    unsigned char bytes[16];
    FILE *random = fopen("/dev/urandom", "rb");
    if (random == NULL || fread(bytes, sizeof bytes, 1, random) != 1) fail("/dev/urandom");
    fclose(random);
    for (int i = 0; i < 16; i++) sprintf(token + 2 * i, "%02x", bytes[i]);
}

static const char *release(redisContext *locks, const char *token) {
    long long released = integer(ask(locks, "LOCK.RELEASE lock:report %s", token));
    return released ? "released" : "not theirs any more";
}

static void lock(redisContext *locks) {
    char first[33], second[33];
    make_token(first);
    make_token(second);
    long long fence = integer(ask(locks, "LOCK.ACQUIRE lock:report %s 1500 FENCE", first));
    printf("first holder of the lock: %s\n", fence ? "has it, with a fencing token" : "refused");

    /* The first holder is stuck and doesn't release; the server hands the lock on when its lease
       ends. A program that stores what was done under the lock keeps the greatest token
       seen, and refuses a smaller one. */
    const int wait_ms = 5000;
    long long later =
        integer(ask(locks, "LOCK.ACQUIRE lock:report %s 30000 BLOCK %d FENCE", second, wait_ms));
    printf("second holder, after a wait in the queue: %s\n",
           later > fence ? "has it, with a greater one" : "refused");

    printf("the first holder releases: %s\n", release(locks, first));
    printf("the second holder releases: %s\n", release(locks, second));
}

int main(void) {
    /* A buyer wants an answer soon. A client that waits for a lock expects none before the wait
       is over: its read time-out must be longer than the wait. */
    redisContext *sale = connect_with(1), *locks = connect_with(10);
    sell(&sale);
    lock(locks);

    /* An outcome is an integer reply, a mistake is an error reply. */
    redisReply *mistake = redisCommand(sale, "SECKILL.TRY 99 alice 1004");
    if (mistake == NULL || mistake->type != REDIS_REPLY_ERROR) fail("this should be a mistake");
    printf("no such voucher: %.*s\n", (int)strcspn(mistake->str, " "), mistake->str);

    freeReplyObject(mistake);
    redisFree(sale);
    redisFree(locks);
    return 0;
}
