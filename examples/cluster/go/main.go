// probe PORT default|once WORD...: one command by go-redis' cluster client.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	options := &redis.ClusterOptions{
		Addrs:       []string{"127.0.0.1:" + os.Args[1]},
		ReadTimeout: 300 * time.Millisecond,
	}
	if os.Args[2] == "once" {
		// MaxRetries is of no effect in a cluster.
		options.MaxRedirects = -1
	}
	words := make([]any, 0, len(os.Args))
	for _, word := range os.Args[3:] {
		words = append(words, word)
	}
	reply, err := redis.NewClusterClient(options).Do(context.Background(), words...).Result()
	if err != nil {
		fmt.Println("error", err)
	} else {
		fmt.Println("reply", reply)
	}
	stay, _ := strconv.ParseFloat(os.Getenv("STAY"), 64)
	time.Sleep(time.Duration(stay * float64(time.Second)))
}
