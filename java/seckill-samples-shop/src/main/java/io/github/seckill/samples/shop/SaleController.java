package io.github.seckill.samples.shop;

import io.github.seckill.client.*;
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
        seckill.create(voucher, sale.stock(), SaleRules.none().hold(hold));
        return ResponseEntity.status(HttpStatus.CREATED).build();
    }

    @GetMapping("/audit")
    SaleAudit audit(@PathVariable("voucher") String voucher) {
        return seckill.audit(voucher);
    }

    @PutMapping("/orders/{orderId}")
    ResponseEntity<Map<String, Object>> buy(
            @PathVariable("voucher") String voucher, @PathVariable("orderId") String orderId,
            @RequestHeader(USER) String user,
            @RequestParam(name = "wait", defaultValue = "false") boolean wait) {
        Purchase purchase = wait
                ? seckill.reserveOrWait(voucher, user, orderId)
                : seckill.reserve(voucher, user, orderId);
        return switch (purchase.outcome()) {
            case ACCEPTED -> ResponseEntity.ok(purchase.deadline() == null
                    ? Map.of("state", "sold")
                    : Map.of("state", "held", "deadline", purchase.deadline(),
                            "sale", purchase.order().sale()));
            case WAITING -> ResponseEntity.accepted().body(
                    Map.of("state", "waiting", "position", purchase.order().position()));
            // The same request again is safe.
            case UNKNOWN -> ResponseEntity.status(HttpStatus.SERVICE_UNAVAILABLE)
                    .header("Retry-After", "1").build();
            default -> ResponseEntity.status(HttpStatus.CONFLICT).body(Map.of(
                    "outcome", purchase.outcome().name().toLowerCase(Locale.ROOT)));
        };
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
        Confirmation done = seckill.confirm(order, reference);
        return status(switch (done) {
                    case CONFIRMED, ALREADY_SOLD -> HttpStatus.NO_CONTENT;
                    // It has bought nothing: OrderRows writes down the refund.
                    case TOO_LATE, DUPLICATE_PAYMENT, RELEASED_SINCE -> HttpStatus.CONFLICT;
                    case NO_ORDER -> HttpStatus.NOT_FOUND;
                });
    }

    @DeleteMapping("/orders/{orderId}")
    ResponseEntity<Void> cancel(
            @PathVariable("voucher") String voucher, @PathVariable("orderId") String orderId,
            @RequestHeader(USER) String user) {
        Cancellation done = seckill.cancel(OrderRef.of(voucher, user, orderId));
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
