package io.github.seckill.client;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The book of a managed voucher, added up and compared with its other keys.
 *
 * @param total what the rules say
 * @param left what the stock key says, or null when there is none
 * @param held units of the held orders
 * @param sold units of the sold orders
 * @param orders all orders in the book, released ones too
 * @param buyers users with a held or sold order
 * @param waiting orders that wait in the queue
 * @param changed whether the sale went on during the audit, so that the sums were not compared
 * @param differences a sentence for each difference; empty when the book is sound
 */
public record SaleAudit(
        long total, @Nullable Long left, long held, long sold, long orders, long buyers,
        long waiting, boolean changed, List<String> differences) {
    public SaleAudit {
        differences = List.copyOf(differences);
    }

    /** Whether everything was compared and nothing differs. */
    public boolean isSound() {
        return !changed && differences.isEmpty();
    }
}
