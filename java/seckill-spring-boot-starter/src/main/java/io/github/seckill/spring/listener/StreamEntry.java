package io.github.seckill.spring.listener;

/**
 * An entry of a stream, as a consumer group was handed it.
 *
 * @param id the id of the entry
 * @param deliveries how often it was delivered, this time included. Crashes count, too
 */
public record StreamEntry(String stream, String group, String id, long deliveries) {}
