package io.github.seckill.client;

import org.jspecify.annotations.Nullable;

/**
 * Names an order: the voucher, the user, the order id and, optionally, the sale.
 *
 * @param orderId the id that the try was sent with
 * @param sale the id of the voucher's sale, from {@link SaleInfo#sale()} or an entry of a stream,
 *     so that a late command does not touch a later sale of the same voucher; null for whichever
 *     sale
 */
public record OrderRef(String voucher, String user, String orderId, @Nullable Long sale) {
    /** The greatest id of a sale. */
    public static final long SALE_MAX = (1L << 53) - 1;

    public OrderRef {
        Args.present(voucher, "voucher");
        Args.present(user, "user");
        Args.present(orderId, "orderId");
        if (sale != null) {
            Args.sale(sale);
        }
    }

    public static OrderRef of(String voucher, String user, String orderId) {
        return new OrderRef(voucher, user, orderId, null);
    }

    /** The same order, if it is of this sale. */
    public OrderRef inSale(long sale) {
        return new OrderRef(voucher, user, orderId, sale);
    }
}
