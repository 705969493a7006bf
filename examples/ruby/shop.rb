# A flash sale and a lock by redis-rb. Runs on a new server that has the module.

require "redis"
require "securerandom"

URL = ENV.fetch("REDIS_URL", "redis://127.0.0.1:6379/")
OUTCOMES = ["accepted", "sold out", "at the limit", "not started", "ended", "released"].freeze
ORDER_ID = "9007199254740993" # 2^53 + 1: an id is a string, here as in every language

def connect(read_timeout:)
  # redis-rb would send a command that timed out again by itself, any command. What may be repeated
  # is for the shop to say.
  Redis.new(url: URL, read_timeout: read_timeout, reconnect_attempts: 0)
end

# Tries until there is an answer. Returns the outcome and how many tries had none.
#
# Sending a try again is safe because the voucher is managed and the order id is the same: a try
# that was accepted is answered 0 again, and makes no second order. redis-rb closes a connection on
# which a reply is overdue, so a late reply can't be taken for the next one's.
def buy(sale, voucher, user, order_id)
  unanswered = 0
  begin
    [sale.call("SECKILL.TRY", voucher, user, order_id), unanswered]
  rescue Redis::BaseConnectionError
    raise if unanswered == 9

    unanswered += 1
    sleep 0.05 * unanswered
    retry
  end
end

# What is a map in RESP3 is names and values in turn in RESP2, which this client speaks.
def pairs(reply)
  reply.each_slice(2).to_h
end

def sell(sale)
  sale.call("SECKILL.CREATE", "7", 2, "HOLD", 60_000)

  # For the show: the server answers no write for longer than the sale's read time-out.
  sale.call("CLIENT", "PAUSE", 1500, "WRITE")
  outcome, unanswered = buy(sale, "7", "alice", ORDER_ID)
  puts "alice tries: #{OUTCOMES[outcome]}#{", after a time-out" if unanswered.positive?}"

  outcome, = buy(sale, "7", "alice", ORDER_ID)
  puts "the same try again: #{OUTCOMES[outcome]}"
  outcome, = buy(sale, "7", "alice", "1002")
  puts "another try of hers: #{OUTCOMES[outcome]}"

  # With "*" one round trip makes the id too. Such a try can't be sent again: who got no answer
  # doesn't know the id, and asks SECKILL.STATUS.
  outcome, bobs_order = sale.call("SECKILL.TRY", "7", "bob", "*")
  puts "bob tries, the server makes the id: #{OUTCOMES[outcome]}"
  outcome, = buy(sale, "7", "carol", "1003")
  puts "carol tries: #{OUTCOMES[outcome]}"

  # A payment names its sale, so that a late one never pays an order of the next sale.
  sale_id = pairs(sale.call("SECKILL.INFO", "7"))["sale"]
  paid = sale.call("SECKILL.CONFIRM", "7", "alice", ORDER_ID, "SALE", sale_id)
  puts "alice pays: #{["no such order", "confirmed", "paid before", "too late"][paid]}"
  cancelled = sale.call("SECKILL.CANCEL", "7", "bob", bobs_order)
  puts "bob cancels: #{["no such order", "released", "already released"][cancelled]}"

  order = pairs(sale.call("SECKILL.ORDER", "7", ORDER_ID))
  puts "order #{ORDER_ID}: #{order["user"]}, #{order["units"]} unit, #{order["state"]}"
  info = pairs(sale.call("SECKILL.INFO", "7"))
  puts "sale: #{info["left"]} left, #{info["held"]} held, #{info["sold"]} sold, " \
       "#{sale.xlen("stream.orders")} orders in the stream"
end

def lock(locks)
  first = SecureRandom.uuid
  second = SecureRandom.uuid
  fence = locks.call("LOCK.ACQUIRE", "lock:report", first, 1500, "FENCE")
  puts "first holder of the lock: #{fence.positive? ? "has it, with a fencing token" : "refused"}"

  # The first holder is stuck and doesn't release; the server hands the lock on when its lease ends.
  # A program that stores what was done under the lock keeps the greatest token seen, and
  # refuses a smaller one.
  wait_ms = 5000
  later = locks.call("LOCK.ACQUIRE", "lock:report", second, 30_000, "BLOCK", wait_ms, "FENCE")
  answer = later > fence ? "has it, with a greater one" : "refused"
  puts "second holder, after a wait in the queue: #{answer}"

  { "first" => first, "second" => second }.each do |name, token|
    released = locks.call("LOCK.RELEASE", "lock:report", token)
    puts "the #{name} holder releases: #{released == 1 ? "released" : "not theirs any more"}"
  end
end

# A buyer wants an answer soon. A client that waits for a lock expects none before the wait
# is over: its read time-out must be longer than the wait.
sale = connect(read_timeout: 1)
locks = connect(read_timeout: 10)
sell(sale)
lock(locks)
begin
  sale.call("SECKILL.TRY", "99", "alice", "1004")
rescue Redis::CommandError => mistake # an outcome is a number, a mistake is an exception
  puts "no such voucher: #{mistake.message.split.first}"
end
