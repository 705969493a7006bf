package io.github.seckill.client;

/**
 * An article of a cart, for {@link Commands#tryAll(String, String, java.util.List)}.
 *
 * @param voucher a managed voucher
 * @param units how many of it, at least 1
 */
public record Article(String voucher, long units) {
    public Article {
        Args.text(voucher, "voucher");
        Args.units(units);
    }
}
