// A flash sale and a lock by go-redis. Runs on a new server that has the module.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// An id is a string, here as in every language. This one is 2^53 + 1.
const orderID = "9007199254740993"

var outcomes = []string{
	"accepted", "sold out", "at the limit", "not started", "ended", "released", "waiting",
	"not taken",
}

func connect(readTimeout time.Duration) *redis.Client {
	address := os.Getenv("REDIS_URL")
	if address == "" {
		address = "redis://127.0.0.1:6379/"
	}
	options, err := redis.ParseURL(address)
	check(err)
	options.ReadTimeout = readTimeout
	// go-redis would send a command that timed out up to three times more by itself, any command.
	// What may be repeated is for the shop to say.
	options.MaxRetries = -1
	return redis.NewClient(options)
}

// buy tries until there is an answer, and returns the outcome and how many tries had none.
//
// Sending a try again is safe because the voucher is managed and the order id is the same: a try
// that was accepted is answered 0 again, and makes no second order. go-redis closes a connection on
// which a reply is overdue, so a late reply can't be taken for the next one's.
func buy(ctx context.Context, sale *redis.Client, voucher, user, order string) (int, int, error) {
	for unanswered := 0; ; unanswered++ {
		outcome, err := sale.Do(ctx, "SECKILL.TRY", voucher, user, order).Int()
		var network net.Error
		if !errors.As(err, &network) || unanswered == 9 {
			return outcome, unanswered, err
		}
		time.Sleep(time.Duration(unanswered+1) * 50 * time.Millisecond)
	}
}

func sell(ctx context.Context, sale *redis.Client) {
	check(sale.Do(ctx, "SECKILL.CREATE", "7", 2, "HOLD", 60_000).Err())

	// For the show: the server answers no write for longer than the sale's read time-out.
	check(sale.Do(ctx, "CLIENT", "PAUSE", 1500, "WRITE").Err())
	outcome, unanswered, err := buy(ctx, sale, "7", "alice", orderID)
	check(err)
	late := when(unanswered > 0, ", after a time-out", "")
	fmt.Printf("alice tries: %s%s\n", outcomes[outcome], late)

	outcome, _, err = buy(ctx, sale, "7", "alice", orderID)
	check(err)
	fmt.Println("the same try again:", outcomes[outcome])
	outcome, _, err = buy(ctx, sale, "7", "alice", "1002")
	check(err)
	fmt.Println("another try of hers:", outcomes[outcome])

	// With "*" one round trip makes the id too. Such a try can't be sent again: who got no answer
	// doesn't know the id, and asks SECKILL.STATUS.
	reply, err := sale.Do(ctx, "SECKILL.TRY", "7", "bob", "*").Slice()
	check(err)
	bobsOrder := reply[1]
	fmt.Println("bob tries, the server makes the id:", outcomes[reply[0].(int64)])
	outcome, _, err = buy(ctx, sale, "7", "carol", "1003")
	check(err)
	fmt.Println("carol tries:", outcomes[outcome])

	// A payment names its sale, so that a late one never pays an order of the next sale.
	// go-redis speaks RESP3 unless told otherwise, so this is a map; in RESP2 it is a slice.
	held, err := sale.Do(ctx, "SECKILL.ORDER", "7", orderID).Result()
	check(err)
	saleID := held.(map[any]any)["sale"]
	paid, err := sale.Do(ctx, "SECKILL.CONFIRM", "7", "alice", orderID, "SALE", saleID).Int()
	check(err)
	words := []string{"no such order", "confirmed", "paid before", "too late"}
	fmt.Println("alice pays:", words[paid])
	cancelled, err := sale.Do(ctx, "SECKILL.CANCEL", "7", "bob", bobsOrder).Int()
	check(err)
	words = []string{"no such order", "released", "already released"}
	fmt.Println("bob cancels:", words[cancelled])

	order, err := sale.Do(ctx, "SECKILL.ORDER", "7", orderID).Result()
	check(err)
	fields := order.(map[any]any)
	fmt.Printf("order %s: %s, %d unit, %s\n",
		orderID, fields["user"], fields["units"], fields["state"])
	info, err := sale.Do(ctx, "SECKILL.INFO", "7").Result()
	check(err)
	fields = info.(map[any]any)
	orders, err := sale.XLen(ctx, "stream.orders").Result()
	check(err)
	fmt.Printf("sale: %d left, %d held, %d sold, %d orders in the stream\n",
		fields["left"], fields["held"], fields["sold"], orders)
}

func lock(ctx context.Context, locks *redis.Client) {
	first, second := uuid.NewString(), uuid.NewString()
	fence, err := locks.Do(ctx, "LOCK.ACQUIRE", "lock:report", first, 1500, "FENCE").Int64()
	check(err)
	answer := when(fence > 0, "has it, with a fencing token", "refused")
	fmt.Println("first holder of the lock:", answer)

	// The first holder is stuck and doesn't release; the server hands the lock on when its lease
	// ends. A program that stores what was done under the lock keeps the greatest token
	// seen, and refuses a smaller one. Give ctx a deadline longer than the wait, or none.
	const waitMS = 5000
	acquire := []any{"LOCK.ACQUIRE", "lock:report", second, 30_000, "BLOCK", waitMS, "FENCE"}
	later, err := locks.Do(ctx, acquire...).Int64()
	check(err)
	answer = when(later > fence, "has it, with a greater one", "refused")
	fmt.Println("second holder, after a wait in the queue:", answer)

	for _, holder := range []struct{ name, token string }{{"first", first}, {"second", second}} {
		released, err := locks.Do(ctx, "LOCK.RELEASE", "lock:report", holder.token).Int()
		check(err)
		answer := when(released == 1, "released", "not theirs any more")
		fmt.Printf("the %s holder releases: %s\n", holder.name, answer)
	}
}

func main() {
	ctx := context.Background()
	// A buyer wants an answer soon. A client that waits for a lock expects none before the wait
	// is over: its read time-out must be longer than the wait.
	sale, locks := connect(time.Second), connect(10*time.Second)
	defer sale.Close()
	defer locks.Close()

	sell(ctx, sale)
	lock(ctx, locks)

	// An outcome is a number, a mistake is an error.
	var mistake redis.Error
	if err := sale.Do(ctx, "SECKILL.TRY", "99", "alice", "1004").Err(); errors.As(err, &mistake) {
		word, _, _ := strings.Cut(mistake.Error(), " ")
		fmt.Println("no such voucher:", word)
	}
	cart(ctx, sale)
}

// cart buys several articles, all or nothing: bought means that every element is 0. What could be
// had of a cart that was refused is answered 7.
//
// The same cart may be sent again after a time-out, as a try may.
func cart(ctx context.Context, sale *redis.Client) {
	check(sale.Do(ctx, "SECKILL.CREATE", "shoe", 1, "HOLD", 60_000).Err())
	check(sale.Do(ctx, "SECKILL.CREATE", "sock", 9, "LIMIT", 2, "HOLD", 60_000).Err())
	for _, try := range []struct{ what, user, order string }{
		{"alice's cart", "alice", "2001"},
		{"the same cart again", "alice", "2001"},
		{"bob's cart", "bob", "2002"},
	} {
		articles := []any{"SECKILL.TRYALL", "sock", 2, "shoe", 1, try.user, try.order}
		parts, err := sale.Do(ctx, articles...).Int64Slice()
		check(err)
		bought, words := true, []string{}
		for _, part := range parts {
			bought = bought && part == 0
			words = append(words, outcomes[part])
		}
		fmt.Printf("%s: %s, %s\n",
			try.what, strings.Join(words, " and "), when(bought, "bought", "nothing bought"))
	}
}

func when(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
