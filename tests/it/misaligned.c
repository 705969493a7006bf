/* Preloaded into a server: memory at 8 bytes behind a multiple of 16, as a server has it that keeps the
 * size in front of each block. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SHIFT 8

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

/* Whether a block is ours, and no aligned one of another function. */
static int is_ours(void *block) { return (uintptr_t)block % 16 == SHIFT; }

void *malloc(size_t size) {
    static void *(*inner)(size_t);
    if (!inner) inner = real("malloc");
    char *block = inner(size + SHIFT);
    return block ? block + SHIFT : NULL;
}

void free(void *block) {
    static void (*inner)(void *);
    if (!inner) inner = real("free");
    inner(is_ours(block) ? (char *)block - SHIFT : block);
}

size_t malloc_usable_size(void *block) {
    static size_t (*inner)(void *);
    if (!inner) inner = real("malloc_usable_size");
    return is_ours(block) ? inner((char *)block - SHIFT) - SHIFT : inner(block);
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
