/* The part of the module whit_log that stores records: the C client (clients/c), called by Python.
 *
 * A message with `%` places is stored as its format and its values, and the reader makes the text, where
 * that text is what Python would make: `%d` of an int, `%.3f` of a float, `%s` of a str.  All other
 * messages are stored as the text that Python makes.  No call raises but for what a signal handler
 * raises (KeyboardInterrupt) or a lack of memory, whatever is logged.
 *
 * Only what the limited API of Python 3.10 has is used, so one build serves 3.10 and newer. */
#include "whit_log.c"

/* Python sets it too. */
#undef _GNU_SOURCE
#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum {
    VALUES_MAX = 16,       /* values of a message that are stored as such */
    DATA_MAX = 64,         /* names and values beside a message; what is left out is counted */
    VARIANTS_MAX = 8,      /* formats of one place; further ones are stored as texts */
    FORMAT_MAX = 1024,     /* bytes of a format that is stored once */
    FILE_MAX = 512,        /* bytes of the end of a file's name */
    PLACES_MAX = 16384,    /* places in the program; further records say no place */
    SITES_BYTES = 8 << 20, /* of the dictionary, which has 16 MiB */
    LEVELS = 12
};

/* What an argument is, as far as its text depends on it: four bits of a signature. */
enum { KIND_OTHER = 1, KIND_COUNT, KIND_NEGATIVE, KIND_FLOAT, KIND_TEXT, KIND_BOOL };
/* How it is stored. */
enum { AS_NUMBER, AS_FLOAT, AS_TEXT, AS_STR, AS_REPR };

/* A format with values of some kinds.  `is_native` 0: the text is stored. */
typedef struct variant {
    struct variant *next;
    PyObject *message;
    uint64_t signature;
    int is_native;
    unsigned char how[VALUES_MAX];
    whit_log_site site;
    uint8_t types[VALUES_MAX];
} variant;

/* A place in the program, at a level. */
typedef struct place_of_call {
    struct place_of_call *next;
    PyObject *file;
    long line;
    int level, variant_count;
    char *file_text, *routine_text;
    variant *variants;
    whit_log_site text_site;
} place_of_call;

static struct {
    place_of_call *table[4096];
    size_t places, bytes;
    whit_log_site without_place[LEVELS];
    PyObject *loggers;         /* name: Logger, of records of `logging` */
    PyObject *others;          /* the Logger of those for whose name there is no room */
    PyObject *expand;          /* of a name and an exception, pairs of names and values */
    PyObject *scope;           /* gives the names and values of the context that runs */
    PyObject *standard;        /* names that every LogRecord has */
    Py_ssize_t standard_count;
    PyObject *logger_type;
    int has_scopes;
    PyInterpreterState *interpreter;
} M;

static const uint8_t text_types[] = {WHIT_LOG_TEXT};

/* Names that are looked up at each call. */
enum { N_FILE, N_NAME, N_DICT, R_MSG, R_ARGS, R_LOGGER, R_PATH, R_LINE, R_FUNCTION, R_EXCEPTION, R_STACK, R_TASK, NAME_COUNT };
static const char *const name_texts[NAME_COUNT] = {"co_filename", "co_name", "__dict__", "msg", "args", "name", "pathname",
    "lineno", "funcName", "exc_info", "stack_info", "taskName"};
static PyObject *names[NAME_COUNT];

/* ---- Texts ---- */

/* What a call needs until its record is stored. */
typedef struct kept {
    PyObject *objects[6 * DATA_MAX + 2 * VALUES_MAX + 16];
    int count;
} kept;

static PyObject *keep(kept *all, PyObject *object)
{
    if (object && all->count >= (int)(sizeof all->objects / sizeof *all->objects)) {
        Py_DECREF(object);
        PyErr_SetString(PyExc_RuntimeError, "a call needs too many objects");
        return NULL;
    }
    if (object) all->objects[all->count++] = object;
    return object;
}

static void give_back(kept *all)
{
    while (all->count > 0) Py_DECREF(all->objects[--all->count]);
}

/* Errors that a call keeps to itself are cleared: 1.  Others go on to the caller: 0. */
static int clear_error(void)
{
    if (!PyErr_Occurred()) return 1;
    if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) return 0;
    PyErr_Clear();
    return 1;
}

/* The bytes of a str: UTF-8; bytes of the system that were no UTF-8 are themselves again, and half pairs of
 * UTF-16 are as if they were characters.  NULL: an error is set. */
static const char *bytes_of(kept *all, PyObject *text, Py_ssize_t *length)
{
    const char *fast = PyUnicode_AsUTF8AndSize(text, length);
    if (fast || !clear_error()) return fast;
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
    if (!bytes && clear_error()) bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    char *start = NULL;
    if (!keep(all, bytes) || PyBytes_AsStringAndSize(bytes, &start, length) != 0) return NULL;
    return start;
}

/* str(object) or repr(object), or a text that says why there is none.  NULL: an error is set. */
static PyObject *text_of(kept *all, PyObject *object, int is_repr)
{
    PyObject *text = is_repr ? PyObject_Repr(object) : PyObject_Str(object);
    if (!text && clear_error()) text = PyUnicode_FromString(is_repr ? "<repr() failed>" : "<str() failed>");
    return keep(all, text);
}

static int put_text(kept *all, whit_log_value *value, PyObject *text)
{
    Py_ssize_t length = 0;
    const char *bytes = text ? bytes_of(all, text, &length) : NULL;
    if (!bytes) return 0;
    *value = whit_log_of_bytes(bytes, (size_t)length);
    return 1;
}

/* A value as data: numbers and truths as they are, all else as text. */
static int put_value(kept *all, whit_log_value *value, PyObject *object)
{
    if (PyBool_Check(object)) {
        *value = whit_log_of_bool(object == Py_True);
        return 1;
    }
    if (PyLong_CheckExact(object)) {
        int overflow = 0;
        long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow == 0) {
            *value = whit_log_of_signed(number);
            return 1;
        }
        unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
        if (overflow > 0 && !PyErr_Occurred()) {
            *value = whit_log_of_unsigned(large);
            return 1;
        }
        if (!clear_error()) return 0;
    }
    if (PyFloat_CheckExact(object)) {
        *value = whit_log_of_float(PyFloat_AsDouble(object));
        return 1;
    }
    return put_text(all, value, PyUnicode_Check(object) ? object : text_of(all, object, 0));
}

/* ---- Places and formats ---- */

static char *copied(const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

static void begin_site(whit_log_site *site, const place_of_call *place, const char *format, const uint8_t *types,
                       unsigned count)
{
    whit_log_site begun = {0, (uint32_t)place->line, place->file_text, place->routine_text, format, types,
                           (uint8_t)place->level, (uint8_t)count, 2, 0};
    *site = begun;
    M.bytes += 64 + strlen(place->file_text) + strlen(place->routine_text) + strlen(format);
}

/* The place of a call; NULL: there are too many, or an error is set. */
static place_of_call *find_place(kept *all, PyObject *file, long line, PyObject *routine, int level)
{
    size_t hash = (size_t)PyObject_Hash(file) ^ (size_t)line * 0x9E3779B97F4A7C15u ^ (size_t)level << 7;
    place_of_call **slot = &M.table[(hash ^ hash >> 29) % (sizeof M.table / sizeof *M.table)];
    for (place_of_call *at = *slot; at; at = at->next)
        if (at->line == line && at->level == level &&
            (at->file == file || PyUnicode_Compare(at->file, file) == 0)) return at;
    if (M.places >= PLACES_MAX || M.bytes > SITES_BYTES) return NULL;
    Py_ssize_t file_length = 0, routine_length = 0;
    const char *file_bytes = bytes_of(all, file, &file_length);
    const char *routine_bytes = file_bytes ? bytes_of(all, routine, &routine_length) : NULL;
    place_of_call *place = routine_bytes ? calloc(1, sizeof *place) : NULL;
    if (!place) return NULL;
    if (file_length > FILE_MAX) {
        file_bytes += file_length - FILE_MAX;
        file_length = FILE_MAX;
        /* Not in the midst of a character. */
        while (file_length > 0 && (*file_bytes & 0xC0) == 0x80) file_bytes++, file_length--;
    }
    if (routine_length > FILE_MAX) routine_length = 0;
    place->file_text = copied(file_bytes, (size_t)file_length);
    place->routine_text = copied(routine_bytes, (size_t)routine_length);
    if (!place->file_text || !place->routine_text) {
        free(place->file_text);
        free(place->routine_text);
        free(place);
        return NULL;
    }
    Py_INCREF(file);
    place->file = file;
    place->line = line;
    place->level = level;
    begin_site(&place->text_site, place, "%s", text_types, 1);
    place->next = *slot;
    *slot = place;
    M.places++;
    return place;
}

/* A place of a format: `%`, flags, width, precision, letter. */
typedef struct spec {
    const char *flags_end, *end;
    int has_zero, has_alternate, has_sign, has_width, has_precision;
    char letter;
} spec;

/* Reads what follows a `%`; 0: it is none of the simple ones. */
static int read_spec(const char *at, spec *s)
{
    long width = 0, precision = 0;
    memset(s, 0, sizeof *s);
    for (; *at && strchr("-+ 0#", *at); at++) {
        s->has_zero |= *at == '0';
        s->has_alternate |= *at == '#';
        s->has_sign |= *at == '+' || *at == ' ';
    }
    for (; *at >= '0' && *at <= '9'; at++, s->has_width = 1)
        if ((width = width * 10 + *at - '0') > 1000) return 0;
    if (*at == '.') {
        s->has_precision = 1;
        for (at++; *at >= '0' && *at <= '9'; at++)
            if ((precision = precision * 10 + *at - '0') > 1000) return 0;
    }
    s->flags_end = at;
    while (*at == 'l' || *at == 'h' || *at == 'L') at++;
    s->letter = *at;
    s->end = *at ? at + 1 : at;
    return *at != 0;
}

/* How a value of a kind is stored for a place, and the letter that C has for it; 0: not as Python shows it. */
static const char *native_form(const spec *s, unsigned kind, unsigned char *how)
{
    int is_bare = !s->has_width && !s->has_precision && !s->has_alternate;
    int is_int = kind == KIND_COUNT || kind == KIND_NEGATIVE;
    switch (s->letter) {
    case 'd': case 'i': case 'u':
        *how = AS_NUMBER;
        return (is_int || kind == KIND_BOOL) && !s->has_precision && !s->has_alternate ? "ld" : NULL;
    case 'x': case 'X':
        *how = AS_NUMBER;
        if (kind != KIND_COUNT || s->has_precision || s->has_alternate || s->has_sign) return NULL;
        return s->letter == 'x' ? "lx" : "lX";
    case 'e': case 'E': case 'f': case 'g': case 'G':
        *how = AS_FLOAT;
        if (kind != KIND_FLOAT || s->has_alternate || s->has_zero) return NULL;
        switch (s->letter) {
        case 'e': return "e";
        case 'E': return "E";
        case 'f': return "f";
        case 'g': return "g";
        default: return "G";
        }
    case 's': case 'r':
        *how = is_int ? AS_NUMBER : s->letter == 'r' ? AS_REPR : kind == KIND_TEXT ? AS_TEXT : AS_STR;
        return !is_bare ? NULL : is_int ? "ld" : "s";
    default:
        return NULL;
    }
}

/* Writes a format as C has it; 0: the reader would not show what Python shows. */
static int translate(const char *format, uint64_t signature, char *to, unsigned char *how, uint8_t *types, unsigned *count)
{
    static const uint8_t type_of[] = {WHIT_LOG_SIGNED, WHIT_LOG_FLOAT, WHIT_LOG_TEXT, WHIT_LOG_TEXT, WHIT_LOG_TEXT};
    *count = 0;
    for (const char *at = format; *at;) {
        if (*at != '%') {
            *to++ = *at++;
            continue;
        }
        if (at[1] == '%') {
            *to++ = *at++;
            *to++ = *at++;
            continue;
        }
        spec s;
        unsigned kind = (unsigned)(signature >> *count * 4) & 15;
        if (*count >= VALUES_MAX || kind == 0 || !read_spec(at + 1, &s)) return 0;
        const char *letters = native_form(&s, kind, &how[*count]);
        if (!letters) return 0;
        int is_text = how[*count] >= AS_TEXT || s.letter == 's' || s.letter == 'r';
        *to++ = '%';
        /* Flags without a width say nothing of a text. */
        for (at++; at < s.flags_end && !is_text; at++) *to++ = *at;
        while (*letters) *to++ = *letters++;
        at = s.end;
        types[*count] = type_of[how[*count]];
        ++*count;
    }
    *to = 0;
    return *count == VALUES_MAX || signature >> *count * 4 == 0;
}

static unsigned kind_of(PyObject *object)
{
    if (PyUnicode_CheckExact(object)) return KIND_TEXT;
    if (PyBool_Check(object)) return KIND_BOOL;
    if (PyFloat_CheckExact(object)) return KIND_FLOAT;
    if (!PyLong_CheckExact(object)) return KIND_OTHER;
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow != 0 ? KIND_OTHER : number < 0 ? KIND_NEGATIVE : KIND_COUNT;
}

/* The variant of a format and values; NULL: the place has too many. */
static variant *find_variant(kept *all, place_of_call *place, PyObject *message, uint64_t signature)
{
    for (variant *at = place->variants; at; at = at->next)
        if (at->signature == signature &&
            (at->message == message || PyUnicode_Compare(at->message, message) == 0)) return at;
    Py_ssize_t length = 0;
    if (place->variant_count >= VARIANTS_MAX || M.bytes > SITES_BYTES) return NULL;
    const char *format = bytes_of(all, message, &length);
    variant *made = format && length <= FORMAT_MAX ? calloc(1, sizeof *made) : NULL;
    if (!made) return NULL;
    char text[FORMAT_MAX * 2 + 1];
    unsigned count = 0;
    if (strlen(format) == (size_t)length && PyUnicode_AsUTF8AndSize(message, &length) &&
        translate(format, signature, text, made->how, made->types, &count)) {
        char *own = copied(text, strlen(text));
        if (own) begin_site(&made->site, place, own, made->types, count);
        made->is_native = own != NULL;
    }
    clear_error();
    Py_INCREF(message);
    made->message = message;
    made->signature = signature;
    made->next = place->variants;
    place->variants = made;
    place->variant_count++;
    return made;
}

/* ---- Records ---- */

typedef struct LoggerObject {
    PyObject_HEAD
    whit_log_logger log;
    PyObject *name;
} LoggerObject;

/* What is logged. */
typedef struct call {
    const LoggerObject *logger;
    uint8_t level;
    PyObject *file, *routine;
    long line;
    PyObject *message, *args; /* args: a tuple, a mapping or NULL */
    whit_log_attribute data[DATA_MAX];
    unsigned data_count;
    uint64_t data_left_out;
    kept kept;
} call;

static void store(const call *c, whit_log_site *site, const whit_log_value *values, unsigned count)
{
    const whit_log_logger *logger = &c->logger->log;
    if (c->data_count == 0) {
        uint64_t bytes = 24;
        for (unsigned at = 0; at < count; at++) bytes += whit_log_value_bytes(&values[at]);
        whit_log_state *state = whit_log_current;
        unsigned char *to = whit_log_begin(state, site, bytes);
        if (to) {
            unsigned char *first = to;
            to += 24;
            for (unsigned at = 0; at < count; at++) to = whit_log_value_store(to, &values[at]);
            whit_log_commit(state, first, site, logger, c->level, bytes);
            return;
        }
    }
    /* It may wait for room. */
    Py_BEGIN_ALLOW_THREADS
    whit_log_slow_with(site, logger, c->level, values, count, c->data, c->data_count);
    Py_END_ALLOW_THREADS
}

static int add_data(call *c, PyObject *name, PyObject *value);

/* Adds a name and a value that nobody else has to keep: of both the caller hands over a reference. */
static int take_data(call *c, PyObject *name, PyObject *value)
{
    unsigned before = c->data_count;
    int is_added = add_data(c, name, value);
    if (c->data_count > before) return keep(&c->kept, name) && keep(&c->kept, value) && is_added;
    Py_DECREF(name);
    Py_DECREF(value);
    return is_added;
}

/* Adds pairs of names and values: a tuple or a list of tuples. */
static int add_pairs(call *c, PyObject *pairs)
{
    Py_ssize_t count = pairs ? PySequence_Size(pairs) : -1;
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *pair = PySequence_GetItem(pairs, at);
        PyObject *name = pair ? PySequence_GetItem(pair, 0) : NULL, *value = name ? PySequence_GetItem(pair, 1) : NULL;
        int is_added = value && take_data(c, name, value);
        if (!value) Py_XDECREF(name);
        Py_XDECREF(pair);
        if (!is_added) return 0;
    }
    return count >= 0;
}

/* Adds a name and a value; an exception becomes several. */
static int add_data(call *c, PyObject *name, PyObject *value)
{
    if (c->data_count >= DATA_MAX - 2) {
        c->data_left_out++;
        return 1;
    }
    if (PyExceptionInstance_Check(value) || PyUnicode_CompareWithASCIIString(name, "exc_info") == 0) {
        PyObject *pairs = PyObject_CallFunctionObjArgs(M.expand, name, value, NULL);
        if (!pairs) return clear_error();
        keep(&c->kept, pairs);
        return add_pairs(c, pairs);
    }
    whit_log_attribute *to = &c->data[c->data_count];
    Py_ssize_t length = 0;
    if (!(to->name = bytes_of(&c->kept, name, &length)) || !put_value(&c->kept, &to->value, value)) return 0;
    c->data_count++;
    return 1;
}

static void add_own(call *c, const char *name, whit_log_value value)
{
    if (c->data_count >= DATA_MAX) return;
    whit_log_attribute *to = &c->data[c->data_count++];
    to->name = name;
    to->value = value;
}

/* message % args; where Python refuses that, the message and its arguments, and data that says so. */
static PyObject *format_message(call *c)
{
    PyObject *text = c->args ? PyUnicode_Format(c->message, c->args) : NULL;
    if (text || !c->args) return text ? keep(&c->kept, text) : c->message;
    if (!clear_error()) return NULL;
    add_own(c, "FormatError", whit_log_of_text("the arguments do not fit the format"));
    PyObject *args = text_of(&c->kept, c->args, 1);
    return args ? keep(&c->kept, PyUnicode_FromFormat("%U %U", c->message, args)) : NULL;
}

static int add_scope(call *c)
{
    PyObject *pairs = PyObject_CallNoArgs(M.scope);
    if (!pairs) return clear_error();
    keep(&c->kept, pairs);
    return add_pairs(c, pairs);
}

static int write_text(call *c, place_of_call *place)
{
    whit_log_value value;
    PyObject *text = format_message(c);
    if (!text || !put_text(&c->kept, &value, text)) return 0;
    store(c, place ? &place->text_site : &M.without_place[c->level], &value, 1);
    return 1;
}

/* Stores a record.  0: an error is set. */
static int write_call(call *c)
{
    if (!PyUnicode_CheckExact(c->message)) {
        PyObject *text = text_of(&c->kept, c->message, 0);
        if (!text) return 0;
        /* Of a subclass of str, str() may be one again. */
        c->message = PyUnicode_CheckExact(text) ? text : keep(&c->kept, PyUnicode_FromObject(text));
        if (!c->message) return 0;
    }
    if (M.has_scopes && !add_scope(c)) return 0;
    if (c->data_left_out) add_own(c, "DataLeftOut", whit_log_of_unsigned(c->data_left_out));
    place_of_call *place = find_place(&c->kept, c->file, c->line, c->routine, c->level);
    if (!place && !clear_error()) return 0;
    Py_ssize_t count = c->args && PyTuple_Check(c->args) ? PyTuple_Size(c->args) : 0;
    if (!place || count == 0 || count > VALUES_MAX) return write_text(c, place);
    uint64_t signature = 0;
    PyObject *objects[VALUES_MAX];
    for (Py_ssize_t at = 0; at < count; at++) {
        objects[at] = PyTuple_GetItem(c->args, at);
        signature |= (uint64_t)kind_of(objects[at]) << at * 4;
    }
    variant *found = find_variant(&c->kept, place, c->message, signature);
    if (!found || !found->is_native) return (found || clear_error()) && write_text(c, place);
    whit_log_value values[VALUES_MAX];
    for (Py_ssize_t at = 0; at < count; at++) {
        switch (found->how[at]) {
        case AS_NUMBER: values[at] = whit_log_of_signed(PyLong_AsLongLong(objects[at])); break;
        case AS_FLOAT: values[at] = whit_log_of_float(PyFloat_AsDouble(objects[at])); break;
        default: {
            int how = found->how[at];
            PyObject *text = how == AS_TEXT ? objects[at] : text_of(&c->kept, objects[at], how == AS_REPR);
            if (!text || !put_text(&c->kept, &values[at], text)) return 0;
        }
        }
    }
    store(c, &found->site, values, (unsigned)count);
    return 1;
}

/* Stores a record and ends the call. */
static PyObject *finish(call *c, int is_whole)
{
    is_whole = is_whole && write_call(c);
    if (!is_whole && clear_error()) {
        /* What cannot be stored is at least said. */
        whit_log_value value = whit_log_of_text("a record that cannot be stored");
        store(c, &M.without_place[c->level], &value, 1);
        is_whole = 1;
    }
    give_back(&c->kept);
    if (!is_whole) return NULL;
    Py_RETURN_NONE;
}

static int is_level(long level)
{
    return level >= WHIT_LOG_LEVEL_TRACE && level <= WHIT_LOG_LEVEL_EMERGENCY && level != 7;
}

/* ---- Logger ---- */

static PyObject *log_from_frame(PyObject *self, uint8_t level, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    call c;
    c.logger = (const LoggerObject *)self;
    if (!whit_log_is_enabled(&c.logger->log, level)) Py_RETURN_NONE;
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "a log call needs a message");
        return NULL;
    }
    c.level = level;
    c.data_count = 0;
    c.data_left_out = 0;
    c.kept.count = 0;
    c.message = args[0];
    c.args = NULL;
    PyFrameObject *frame = PyEval_GetFrame();
    PyObject *code = frame ? (PyObject *)PyFrame_GetCode(frame) : NULL;
    c.line = frame ? PyFrame_GetLineNumber(frame) : 0;
    c.file = code ? keep(&c.kept, PyObject_GetAttr(code, names[N_FILE])) : names[N_FILE];
    c.routine = code ? keep(&c.kept, PyObject_GetAttr(code, names[N_NAME])) : names[N_NAME];
    Py_XDECREF(code);
    int is_whole = c.file && c.routine;
    if (count > 1) {
        c.args = keep(&c.kept, PyTuple_New(count - 1));
        is_whole = is_whole && c.args;
        for (Py_ssize_t at = 1; c.args && at < count; at++) {
            Py_INCREF(args[at]);
            PyTuple_SetItem(c.args, at - 1, args[at]);
        }
        /* As `logging` does: one mapping is for `%(name)s`. */
        if (is_whole && count == 2 && PyDict_Check(args[1])) c.args = args[1];
    }
    Py_ssize_t pairs = keywords ? PyTuple_Size(keywords) : 0;
    for (Py_ssize_t at = 0; is_whole && at < pairs; at++)
        is_whole = add_data(&c, PyTuple_GetItem(keywords, at), args[count + at]);
    return finish(&c, is_whole);
}

#define LEVEL_METHOD(name, level)                                                                              \
    static PyObject *logger_##name(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) \
    {                                                                                                          \
        return log_from_frame(self, (level), args, count, keywords);                                           \
    }
LEVEL_METHOD(trace, WHIT_LOG_LEVEL_TRACE)
LEVEL_METHOD(delouse, WHIT_LOG_LEVEL_DELOUSE)
LEVEL_METHOD(debug, WHIT_LOG_LEVEL_DEBUG)
LEVEL_METHOD(info, WHIT_LOG_LEVEL_INFO)
LEVEL_METHOD(notice, WHIT_LOG_LEVEL_NOTICE)
LEVEL_METHOD(warning, WHIT_LOG_LEVEL_WARNING)
LEVEL_METHOD(error, WHIT_LOG_LEVEL_ERROR)
LEVEL_METHOD(critical, WHIT_LOG_LEVEL_CRITICAL)
LEVEL_METHOD(alert, WHIT_LOG_LEVEL_ALERT)
LEVEL_METHOD(emergency, WHIT_LOG_LEVEL_EMERGENCY)

static PyObject *logger_log(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    long level = count > 0 ? PyLong_AsLong(args[0]) : -1;
    if (PyErr_Occurred()) return NULL;
    if (!is_level(level)) {
        PyErr_SetString(PyExc_ValueError, "log() needs a level: whit_log.Level.INFO");
        return NULL;
    }
    return log_from_frame(self, (uint8_t)level, args + 1, count - 1, keywords);
}

static PyObject *logger_is_enabled(PyObject *self, PyObject *level)
{
    long number = PyLong_AsLong(level);
    if (number == -1 && PyErr_Occurred()) return NULL;
    return PyBool_FromLong(is_level(number) && whit_log_is_enabled(&((LoggerObject *)self)->log, (uint8_t)number));
}

static PyObject *logger_set_levels(PyObject *self, PyObject *args)
{
    long central = 0, local = 0;
    if (!PyArg_ParseTuple(args, "ll", &central, &local)) return NULL;
    if ((!is_level(central) && central != WHIT_LOG_LEVEL_OFF) || (!is_level(local) && local != WHIT_LOG_LEVEL_OFF)) {
        PyErr_SetString(PyExc_ValueError, "set_levels() needs two levels: whit_log.Level.INFO, ...OFF");
        return NULL;
    }
    whit_log_set_levels(&((LoggerObject *)self)->log, (uint8_t)central, (uint8_t)local);
    Py_RETURN_NONE;
}

/* Logger._write(level, file, line, routine, message, args, pairs) */
static PyObject *logger_write(PyObject *self, PyObject *args)
{
    call c;
    PyObject *pairs;
    int level;
    c.logger = (const LoggerObject *)self;
    if (!PyArg_ParseTuple(args, "iUlUOOO", &level, &c.file, &c.line, &c.routine, &c.message, &c.args, &pairs)) return NULL;
    if (!is_level(level) || !whit_log_is_enabled(&c.logger->log, (uint8_t)level)) Py_RETURN_NONE;
    c.level = (uint8_t)level;
    c.data_count = 0;
    c.data_left_out = 0;
    c.kept.count = 0;
    if (c.args == Py_None || (PyTuple_Check(c.args) && PyTuple_Size(c.args) == 0)) c.args = NULL;
    return finish(&c, add_pairs(&c, pairs));
}

static PyObject *logger_make(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *name, *key, *value;
    whit_log_pair given[64];
    size_t count = 0;
    kept all = {.count = 0};
    if (!PyArg_ParseTuple(args, "U", &name)) return NULL;
    Py_ssize_t length = 0, at = 0;
    const char *text = bytes_of(&all, name, &length);
    while (text && keywords && count < 64 && PyDict_Next(keywords, &at, &key, &value)) {
        given[count].name = bytes_of(&all, key, &length);
        PyObject *shown = PyUnicode_Check(value) ? value : text_of(&all, value, 0);
        given[count].value = shown ? bytes_of(&all, shown, &length) : NULL;
        if (!given[count].name || !given[count].value) text = NULL;
        count++;
    }
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    LoggerObject *made = text ? (LoggerObject *)make(type, 0) : NULL;
    if (made) {
        Py_INCREF(name);
        made->name = name;
        if (whit_log_logger_make(&made->log, text, given, count) != 0) {
            PyErr_Format(PyExc_OSError, "logger %.200s: %s", text, errno == ENOSPC ? "there is no room for more loggers" :
                         errno == ENAMETOOLONG ? "the name has more than 144 bytes" : strerror(errno));
            Py_DECREF(made);
            made = NULL;
        }
    }
    give_back(&all);
    return (PyObject *)made;
}

static void logger_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((LoggerObject *)self)->name);
    freefunc give = (freefunc)PyType_GetSlot(type, Py_tp_free);
    give(self);
    Py_DECREF(type);
}

static PyObject *logger_name(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *name = ((LoggerObject *)self)->name;
    Py_INCREF(name);
    return name;
}

#define FAST(name, about) {#name, (PyCFunction)(void (*)(void))logger_##name, METH_FASTCALL | METH_KEYWORDS, about}
#define ABOUT "Logs a message, `%` of its arguments, at this level; names and values are data of the record."
static PyMethodDef logger_methods[] = {
    FAST(trace, ABOUT), FAST(delouse, ABOUT), FAST(debug, ABOUT), FAST(info, ABOUT), FAST(notice, ABOUT),
    FAST(warning, ABOUT), FAST(error, ABOUT), FAST(critical, ABOUT), FAST(alert, ABOUT), FAST(emergency, ABOUT),
    FAST(log, "Logs at a level: log(Level.NOTICE, message, ...)."),
    {"is_enabled", logger_is_enabled, METH_O, "Whether records of a level are made."},
    {"set_levels", logger_set_levels, METH_VARARGS, "Sets the level for the central store and that for local outputs."},
    {"_write", logger_write, METH_VARARGS, "Stores a record of any place."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef logger_fields[] = {{"name", logger_name, NULL, "The name.", NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot logger_slots[] = {{Py_tp_new, (void *)logger_make},
                                     {Py_tp_dealloc, (void *)logger_free},
                                     {Py_tp_methods, logger_methods},
                                     {Py_tp_getset, logger_fields},
                                     {Py_tp_doc, (void *)"A named logger; names and values of its context may follow."},
                                     {0, NULL}};
static PyType_Spec logger_spec = {"whit_log._ring.Logger", sizeof(LoggerObject), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, logger_slots};

/* ---- Records of `logging` ---- */

/* The logger of a name, a borrowed reference.  Where there is no room for it, records say it as data. */
static PyObject *logger_of(call *c, PyObject *name)
{
    PyObject *found = PyDict_GetItemWithError(M.loggers, name);
    if (!found && !PyErr_Occurred() && PyDict_Size(M.loggers) < 4096) {
        found = PyObject_CallFunctionObjArgs(M.logger_type, name, NULL);
        if (!found) {
            if (!clear_error()) return NULL;
            found = M.others;
            Py_INCREF(found);
        }
        PyDict_SetItem(M.loggers, name, found);
        Py_DECREF(found);
    }
    if (!found) found = M.others;
    if (found == M.others && !add_data(c, names[R_LOGGER], name)) return NULL;
    return found;
}

/* Adds what a record has beside what every record has. */
static int add_extra(call *c, PyObject *fields)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (PyDict_Size(fields) == M.standard_count) return 1;
    while (PyDict_Next(fields, &at, &key, &value)) {
        int is_standard = PyUnicode_Check(key) ? PySet_Contains(M.standard, key) : 1;
        if (is_standard < 0) return 0;
        if (is_standard) continue;
        Py_INCREF(key);
        Py_INCREF(value);
        int is_added = take_data(c, key, value);
        if (!is_added) return 0;
    }
    return 1;
}

/* emit(record, level, text): text is None, or the message as a formatter has made it. */
static PyObject *emit(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "emit() takes a record, a level and a text");
        return NULL;
    }
    call c;
    c.data_count = 0;
    c.data_left_out = 0;
    c.kept.count = 0;
    long level = PyLong_AsLong(given[1]);
    PyObject *fields = is_level(level) ? keep(&c.kept, PyObject_GetAttr(given[0], names[N_DICT])) : NULL;
    PyObject *of[NAME_COUNT];
    for (int at = R_MSG; at < NAME_COUNT; at++) {
        of[at] = fields ? PyDict_GetItemWithError(fields, names[at]) : NULL;
        /* A formatter or str() of a value may change the record meanwhile. */
        if (of[at]) {
            Py_INCREF(of[at]);
            keep(&c.kept, of[at]);
        }
    }
    if (!fields || !of[R_MSG] || !of[R_LOGGER] || !PyUnicode_Check(of[R_LOGGER])) {
        give_back(&c.kept);
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "emit() takes a LogRecord and a level");
        return NULL;
    }
    c.logger = (const LoggerObject *)logger_of(&c, of[R_LOGGER]);
    c.level = (uint8_t)level;
    if (c.logger && !whit_log_is_enabled(&c.logger->log, c.level)) {
        give_back(&c.kept);
        Py_RETURN_NONE;
    }
    if (!c.logger) {
        give_back(&c.kept);
        return NULL;
    }
    PyObject *empty = names[R_STACK];
    c.file = of[R_PATH] && PyUnicode_Check(of[R_PATH]) ? of[R_PATH] : empty;
    c.routine = of[R_FUNCTION] && PyUnicode_Check(of[R_FUNCTION]) ? of[R_FUNCTION] : empty;
    c.line = of[R_LINE] && PyLong_Check(of[R_LINE]) ? PyLong_AsLong(of[R_LINE]) : 0;
    int is_whole = !PyErr_Occurred() || clear_error();
    c.message = given[2] == Py_None ? of[R_MSG] : given[2];
    PyObject *args = given[2] == Py_None ? of[R_ARGS] : NULL;
    int has_args = args && args != Py_None ? PyObject_IsTrue(args) : 0;
    if (has_args < 0) is_whole = clear_error(), has_args = 0;
    c.args = has_args ? args : NULL;
    PyObject *exception = of[R_EXCEPTION], *stack = of[R_STACK], *task = of[R_TASK];
    if (is_whole && exception && exception != Py_None && exception != Py_False)
        is_whole = add_data(&c, names[R_EXCEPTION], exception);
    if (is_whole && stack && stack != Py_None) is_whole = add_data(&c, names[R_STACK], stack);
    if (is_whole && task && task != Py_None) is_whole = add_data(&c, names[R_TASK], task);
    return finish(&c, is_whole && add_extra(&c, fields));
}

/* ---- The module ---- */

/* start(settings): a dict; gives 0, or 1 if the rings do not survive the process. */
static PyObject *start(PyObject *module, PyObject *given)
{
    (void)module;
    whit_log_settings settings;
    PyObject *key, *value;
    Py_ssize_t at = 0, length = 0;
    kept all = {.count = 0};
    whit_log_defaults(&settings);
    if (!PyDict_Check(given) || PyDict_Size(given) > 40) {
        PyErr_SetString(PyExc_TypeError, "start() takes a dict of settings");
        return NULL;
    }
    const struct { const char *name; const char **to; } texts[] = {{"directory", &settings.directory},
        {"host_name", &settings.host_name}, {"process_name", &settings.process_name}};
    const struct { const char *name; uint64_t *to; } numbers[] = {{"ring_bytes", &settings.ring_bytes},
        {"ring_bytes_max", &settings.ring_bytes_max}, {"process_bytes_max", &settings.process_bytes_max},
        {"block_timeout_ns", &settings.block_timeout_ns}};
    while (PyDict_Next(given, &at, &key, &value)) {
        const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, &length) : NULL;
        int is_known = 0;
        if (!name) goto refused;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            if (strcmp(name, texts[i].name) == 0 && PyUnicode_Check(value)) {
                *texts[i].to = bytes_of(&all, value, &length);
                is_known = *texts[i].to && strlen(*texts[i].to) == (size_t)length;
            }
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            if (strcmp(name, numbers[i].name) == 0 && PyLong_Check(value)) {
                *numbers[i].to = PyLong_AsUnsignedLongLong(value);
                is_known = !PyErr_Occurred();
            }
        if (strcmp(name, "policy") == 0 && PyLong_Check(value)) {
            long policy = PyLong_AsLong(value);
            is_known = policy >= WHIT_LOG_GROW && policy <= WHIT_LOG_OVERWRITE;
            if (is_known) memset(settings.policies, (int)policy, sizeof settings.policies);
        }
        if (!is_known && strncmp(name, "acs:", 4) == 0 && PyUnicode_Check(value)) {
            const char *text = bytes_of(&all, value, &length);
            const char *why = text ? whit_log_set_acs(&settings, name + 4, text) : "no text";
            if (why) {
                PyErr_Clear();
                PyErr_Format(PyExc_ValueError, "%s: %s", name + 4, why);
                goto refused;
            }
            is_known = 1;
        }
        if (!is_known) {
            PyErr_Clear();
            PyErr_Format(PyExc_ValueError, "%s=%R is no setting of whit_log", name, value);
            goto refused;
        }
    }
    int done = whit_log_start(&settings);
    if (done < 0) PyErr_SetFromErrno(PyExc_OSError);
    give_back(&all);
    return done < 0 ? NULL : PyLong_FromLong(done);
refused:
    give_back(&all);
    return NULL;
}

/* connect(expand, scope, standard, standard_count, others): what this part calls, and names that every
 * LogRecord has. */
static PyObject *connect_parts(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *expand, *scope, *standard, *others;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "OOOnO", &expand, &scope, &standard, &count, &others)) return NULL;
    Py_XINCREF(expand);
    Py_XINCREF(scope);
    Py_XINCREF(standard);
    Py_XINCREF(others);
    M.expand = expand;
    M.scope = scope;
    M.standard = standard;
    M.standard_count = count;
    M.others = others;
    Py_RETURN_NONE;
}

static PyObject *use_scopes(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    M.has_scopes = 1;
    Py_RETURN_NONE;
}

static PyObject *end(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    whit_log_end();
    Py_RETURN_NONE;
}

static PyObject *flush(PyObject *module, PyObject *args)
{
    (void)module;
    int tier, is_safe;
    double seconds;
    if (!PyArg_ParseTuple(args, "id", &tier, &seconds)) return NULL;
    uint64_t ns = seconds > 0 ? seconds < 1e9 ? (uint64_t)(seconds * 1e9) : (uint64_t)1000000000000000000u : 0;
    Py_BEGIN_ALLOW_THREADS
    is_safe = whit_log_flush(tier, ns);
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(is_safe);
}

static PyMethodDef functions[] = {
    {"start", start, METH_O, "Starts logging."},
    {"end", end, METH_NOARGS, "Says that the process ends in order."},
    {"flush", flush, METH_VARARGS, "Waits until all is as safe as a tier says."},
    {"emit", (PyCFunction)(void (*)(void))emit, METH_FASTCALL, "Stores a LogRecord."},
    {"connect", connect_parts, METH_VARARGS, "Tells this part what it calls."},
    {"use_scopes", use_scopes, METH_NOARGS, "Records ask for the scope from now on."},
    {NULL, NULL, 0, NULL}};

static int run_module(PyObject *module)
{
    if (M.interpreter && M.interpreter != PyInterpreterState_Get()) {
        PyErr_SetString(PyExc_ImportError, "whit_log works in one interpreter of a process: import it in the main one");
        return -1;
    }
    M.interpreter = PyInterpreterState_Get();
    for (int at = 0; at < NAME_COUNT; at++)
        if (!names[at] && !(names[at] = PyUnicode_InternFromString(name_texts[at]))) return -1;
    for (int level = 0; level < LEVELS; level++) {
        whit_log_site site = {0, 0, "", "", "%s", text_types, (uint8_t)level, 1, 2, 0};
        if (!M.without_place[level].format) M.without_place[level] = site;
    }
    if (!M.loggers && !(M.loggers = PyDict_New())) return -1;
    if (!M.logger_type && !(M.logger_type = PyType_FromSpec(&logger_spec))) return -1;
    Py_INCREF(M.logger_type);
    return PyModule_AddObject(module, "Logger", M.logger_type);
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)run_module}, {0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_ring", "Stores records into rings of whit.", 0,
                                        functions, module_slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__ring(void)
{
    return PyModuleDef_Init(&definition);
}
