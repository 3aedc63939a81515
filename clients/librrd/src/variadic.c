/* The functions of librrd that take `...`, which Rust cannot define.  Rust exports them under
 * their names (error.rs). */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* The buffer of the calling thread's error, in Rust. */
extern char *whit_rrd_error_buffer(size_t *size);

void whit_rrd_set_error(const char *format, ...)
{
    size_t size;
    char *buffer = whit_rrd_error_buffer(&size);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer, size, format, arguments);
    va_end(arguments);
}

int whit_rrd_snprintf(char *buffer, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(buffer, size, format, arguments);
    va_end(arguments);
    return length;
}
