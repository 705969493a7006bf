/* Preloaded into a server on jemalloc: memory at 8 bytes behind a multiple of 16, as a server has it that
 * keeps the size in front of each block. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SHIFT 8

/* Those of jemalloc that nothing here takes the place of. */
extern void *mallocx(size_t size, int flags);
extern void dallocx(void *block, int flags);
extern size_t sallocx(const void *block, int flags);

/* Whether a block is ours, and not an aligned one of another function. */
static int is_ours(const void *block) { return (uintptr_t)block % 16 == SHIFT; }

void *malloc(size_t size) {
    char *block = size <= PTRDIFF_MAX - SHIFT ? mallocx(size + SHIFT, 0) : NULL;
    return block ? block + SHIFT : NULL;
}

void free(void *block) {
    if (block) dallocx(is_ours(block) ? (char *)block - SHIFT : block, 0);
}

/* By which newer servers free what they know the size of. */
void sdallocx(void *block, size_t size, int flags) {
    (void)size, (void)flags;
    free(block);
}

size_t malloc_usable_size(void *block) {
    if (!block) return 0;
    return is_ours(block) ? sallocx((char *)block - SHIFT, 0) - SHIFT : sallocx(block, 0);
}

void *calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    void *block = malloc(bytes);
    return block ? memset(block, 0, bytes) : NULL;
}

void *realloc(void *block, size_t size) {
    if (!block) return malloc(size);
    size_t before = malloc_usable_size(block);
    void *larger = malloc(size);
    if (!larger) return NULL;
    memcpy(larger, block, before < size ? before : size);
    free(block);
    return larger;
}
