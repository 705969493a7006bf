package io.github.seckill.samples.shop;

import static io.github.seckill.client.Commands.confirm;
import static io.github.seckill.client.Commands.create;
import static io.github.seckill.client.Commands.reserve;

import io.github.seckill.client.*;
import io.github.seckill.client.Reservation.Held;
import io.github.seckill.client.Reservation.Refused;
import io.github.seckill.client.Reservation.Sold;
import io.github.seckill.client.Reservation.Waiting;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.*;

/**
 * The shop's HTTP endpoints. The buyer's browser makes the order id, a UUID, so that all requests
 * are idempotent and can be sent again after a time-out. A real shop takes the user from the
 * session.
 */
@RestController
@RequestMapping("/sales/{voucher}")
class SaleController {
    private static final String USER = "X-User";

    private final SeckillClient seckill;

    SaleController(SeckillClient seckill) {
        this.seckill = seckill;
    }

    /**
     * What is put on sale.
     *
     * @param holdSeconds how long a buyer has to pay
     */
    record NewSale(long stock, long holdSeconds) {}

    @PutMapping
    ResponseEntity<Void> open(@PathVariable("voucher") String voucher, @RequestBody NewSale sale) {
        Duration hold = Duration.ofSeconds(sale.holdSeconds());
        seckill.run(create(voucher, sale.stock(), SaleRules.none().hold(hold)));
        return ResponseEntity.status(HttpStatus.CREATED).build();
    }

    @GetMapping
    SaleInfo info(@PathVariable("voucher") String voucher) {
        return seckill.run(Commands.info(voucher));
    }

    @GetMapping("/audit")
    SaleAudit audit(@PathVariable("voucher") String voucher) {
        return seckill.run(Commands.audit(voucher));
    }

    @PutMapping("/orders/{orderId}")
    ResponseEntity<Map<String, Object>> buy(
            @PathVariable("voucher") String voucher, @PathVariable("orderId") String orderId,
            @RequestHeader(USER) String user,
            @RequestParam(name = "wait", defaultValue = "false") boolean wait) {
        Reservation reservation = wait
                ? seckill.reserveOrWait(voucher, user, orderId)
                : seckill.run(reserve(voucher, user, orderId));
        if (reservation instanceof Held held) {
            return ResponseEntity.ok(Map.of(
                    "state", "held", "deadline", held.deadline(), "sale", held.sale()));
        }
        if (reservation instanceof Waiting waiting) {
            return ResponseEntity.accepted()
                    .body(Map.of("state", "waiting", "position", waiting.position()));
        }
        if (reservation instanceof Sold) {
            return ResponseEntity.ok(Map.of("state", "sold"));
        }
        if (reservation instanceof Refused refused) {
            String outcome = refused.outcome().name().toLowerCase(Locale.ROOT);
            return ResponseEntity.status(HttpStatus.CONFLICT).body(Map.of("outcome", outcome));
        }
        // Unknown: the same request again is safe.
        return ResponseEntity.status(HttpStatus.SERVICE_UNAVAILABLE)
                .header("Retry-After", "1").build();
    }

    /**
     * What the payment provider calls, perhaps several times. It names the sale, which the buyer
     * was told: a late payment is never one for a later sale.
     */
    @PutMapping("/orders/{orderId}/payment")
    ResponseEntity<Void> pay(
            @PathVariable("voucher") String voucher, @PathVariable("orderId") String orderId,
            @RequestHeader(USER) String user, @RequestParam("sale") long sale,
            @RequestParam("reference") String reference) {
        OrderRef order = OrderRef.of(voucher, user, orderId).inSale(sale);
        Confirmation done = seckill.run(confirm(order, reference));
        return status(switch (done) {
                    case CONFIRMED, ALREADY_SOLD -> HttpStatus.NO_CONTENT;
                    // It has bought nothing: OrderRows writes down the refund.
                    case TOO_LATE, SECOND_PAYMENT, RELEASED_SINCE -> HttpStatus.CONFLICT;
                    case NO_ORDER -> HttpStatus.NOT_FOUND;
                });
    }

    @DeleteMapping("/orders/{orderId}")
    ResponseEntity<Void> cancel(
            @PathVariable("voucher") String voucher, @PathVariable("orderId") String orderId,
            @RequestHeader(USER) String user) {
        Cancellation done = seckill.run(Commands.cancel(OrderRef.of(voucher, user, orderId)));
        return status(switch (done) {
            case RELEASED, ALREADY_RELEASED -> HttpStatus.NO_CONTENT;
            case OTHER_STATE -> HttpStatus.CONFLICT;
            case NO_ORDER -> HttpStatus.NOT_FOUND;
        });
    }

    private static ResponseEntity<Void> status(HttpStatus status) {
        return ResponseEntity.status(status).build();
    }

    @ExceptionHandler
    ResponseEntity<Map<String, String>> mistake(SeckillException mistake) {
        HttpStatus status = switch (mistake.code()) {
                    case NOVOUCHER -> HttpStatus.NOT_FOUND;
                    case BUSYKEY, ORDERID, REF -> HttpStatus.CONFLICT;
                    case BUSY -> HttpStatus.TOO_MANY_REQUESTS;
                    default -> HttpStatus.SERVICE_UNAVAILABLE;
                };
        return ResponseEntity.status(status).body(Map.of("error", mistake.word()));
    }
}
