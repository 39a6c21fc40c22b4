"""The events of a Chrome trace out of raw bytes: one pass, no text made, no object built, nothing thrown.

A buffer holds a part of the file. `events` parses whole objects of the array `traceEvents` out of it and fills one row
per complete slice (`"ph": "X"`) of a category that counts; names are interned by hash. What it gives is where it
stopped and why. Positions below zero mean: INCOMPLETE (the buffer ends inside) or MALFORMED.
"""

from __future__ import annotations

import numpy as np

from argosy.kernels.compiled import compiled

INCOMPLETE, MALFORMED = -1, -2
# Why `events` stopped: more bytes are wanted, the array ended, an object is broken, rows or new names are full.
MORE, CLOSED, BROKEN, FULL = range(4)
# Columns of a row.
(
    KIND,
    NAME,
    START,
    DURATION,
    CORRELATION,
    EXTERNAL,
    DEVICE,
    STREAM,
    THREAD,
    ARGS_AT,
    ARGS_LENGTH,
    SHAPE,
    NUMBER,
) = range(13)
COLUMNS = 13
# Counters of a scan: objects seen, names interned, rows filled, new names listed, whether a time had a fraction,
# slices without a usable time.
EVENTS, NAMES, ROWS, FRESH, FRACTION, UNTIMED = range(6)
COUNTERS = 6
DEEPEST = 64  # brackets inside one value: as many as bits of a word
ABSENT = -1
_LARGEST_US = 4_000_000_000_000_000  # µs: twice its ns still fit in 63 bits


@compiled(nogil=True)
def blank(data, at, end):  # type: ignore[no-untyped-def]
    """The first position from `at` that is no white space; `end` where there is none."""
    while at < end and (data[at] == 0x20 or data[at] == 0x0A or data[at] == 0x0D or data[at] == 0x09):
        at += 1
    return at


@compiled(nogil=True)
def text(data, at, end):  # type: ignore[no-untyped-def]
    """The position behind the string that begins with the quote at `at`, or INCOMPLETE, MALFORMED."""
    at += 1
    while at < end:
        byte = data[at]
        if byte == 0x22:
            return at + 1
        if byte < 0x20:
            return MALFORMED
        at += 2 if byte == 0x5C else 1
    return INCOMPLETE


@compiled(nogil=True)
def value(data, at, end):  # type: ignore[no-untyped-def]
    """The position behind the JSON value at `at`: brackets must match, what stands between them is not judged."""
    if at >= end:
        return INCOMPLETE
    first = data[at]
    if first == 0x22:
        return text(data, at, end)
    if first != 0x7B and first != 0x5B:
        return _literal(data, at, end)
    depth, objects = 0, np.uint64(0)
    while at < end:
        byte = data[at]
        if byte == 0x22:
            at = text(data, at, end)
            if at < 0:
                return at
            continue
        if byte == 0x7B or byte == 0x5B:
            if depth == DEEPEST:
                return MALFORMED
            objects = (objects << np.uint64(1)) | np.uint64(byte == 0x7B)
            depth += 1
        elif byte == 0x7D or byte == 0x5D:
            if (objects & np.uint64(1)) != np.uint64(byte == 0x7D):
                return MALFORMED
            objects >>= np.uint64(1)
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return INCOMPLETE


@compiled(nogil=True)
def _literal(data, at, end):  # type: ignore[no-untyped-def]
    """Behind a number, true, false, null, NaN or Infinity."""
    begun = at
    while at < end:
        byte = data[at]
        letter = 0x61 <= (byte | 0x20) <= 0x7A
        if not (0x30 <= byte <= 0x39 or letter or byte == 0x2D or byte == 0x2E or byte == 0x2B):
            return at if at > begun else MALFORMED
        at += 1
    return INCOMPLETE


@compiled(nogil=True)
def _whole(data, at, end):  # type: ignore[no-untyped-def]
    """The whole number at [at, end); ABSENT where it is none or does not fit in 63 bits."""
    negative = at < end and data[at] == 0x2D
    if negative:
        at += 1
    if at >= end or end - at > 18:
        return ABSENT
    number = 0
    while at < end:
        digit = data[at] - 0x30
        if digit < 0 or digit > 9:
            return ABSENT
        number = number * 10 + digit
        at += 1
    return -number if negative else number


@compiled(nogil=True)
def nanoseconds(data, at, end):  # type: ignore[no-untyped-def]
    """(known, ns, fraction) of the decimal number of µs at [at, end): digit by digit, since a double of absolute µs
    resolves 0.25 µs. Not known: NaN, text, or more than 63 bits."""
    negative = at < end and data[at] == 0x2D
    if negative:
        at += 1
    micro, digits, fraction, found = 0, 0, 0, False
    while at < end and 0x30 <= data[at] <= 0x39:
        micro = micro * 10 + (data[at] - 0x30)
        if micro > _LARGEST_US:
            return False, 0, False
        at += 1
        found = True
    if at < end and data[at] == 0x2E:
        at += 1
        while at < end and 0x30 <= data[at] <= 0x39:
            if digits < 3:
                fraction = fraction * 10 + (data[at] - 0x30)
            elif digits == 3 and data[at] >= 0x35:
                fraction += 1
            digits += 1
            at += 1
        for _ in range(3 - digits):
            fraction *= 10
    ns = micro * 1000 + fraction
    if at < end and (data[at] | 0x20) == 0x65:  # an exponent: rare, and short
        at += 1
        power = _whole(data, at + 1 if at < end and data[at] == 0x2B else at, end)
        if not -18 <= power <= 18:
            return False, 0, False
        scaled = ns * 10.0**power
        if scaled > _LARGEST_US * 1000.0:
            return False, 0, False
        ns, at = int(scaled + 0.5), end
    return found and at == end, -ns if negative else ns, digits > 0


@compiled(nogil=True)
def fingerprint(data, at, end, seed):  # type: ignore[no-untyped-def]
    """FNV-1a of 64 bits over data[at:end], from `seed`; never 0."""
    found = np.uint64(seed)
    for i in range(at, end):
        found = (found ^ np.uint64(data[i])) * np.uint64(0x100000001B3)
    return found if found else np.uint64(1)


@compiled(nogil=True)
def intern(key, hashes, ids, counters, fresh, at, length, parent):  # type: ignore[no-untyped-def]
    """The number of the name with hash `key`: as before, or a new one, which is listed in `fresh` as (id, at, length,
    parent). 0, the name for all others, when half of the table is in use."""
    mask = np.uint64(len(hashes) - 1)
    slot = key & mask
    while hashes[slot] != 0:
        if hashes[slot] == key:
            return ids[slot]
        slot = (slot + np.uint64(1)) & mask
    if counters[NAMES] * 2 >= len(hashes):
        return 0
    number = counters[NAMES]
    hashes[slot], ids[slot] = key, number
    counters[NAMES] += 1
    row = counters[FRESH]
    fresh[row, 0], fresh[row, 1], fresh[row, 2], fresh[row, 3] = number, at, length, parent
    counters[FRESH] += 1
    return number


@compiled(nogil=True)
def _is(data, at, end, word):  # type: ignore[no-untyped-def]
    if end - at != len(word):
        return False
    for i in range(len(word)):  # noqa: SIM110
        if data[at + i] != word[i]:
            return False
    return True


@compiled(nogil=True)
def _category(data, at, end, hashes):  # type: ignore[no-untyped-def]
    """The index of a category's hash (of its lower-case letters), ABSENT for one that does not count."""
    found = np.uint64(0xCBF29CE484222325)
    for i in range(at, end):
        byte = data[i]
        if 0x41 <= byte <= 0x5A:
            byte |= 0x20
        found = (found ^ np.uint64(byte)) * np.uint64(0x100000001B3)
    for i in range(len(hashes)):
        if hashes[i] == found:
            return i
    return ABSENT


@compiled(nogil=True)
def member(data, at, end):  # type: ignore[no-untyped-def]
    """(key from, key to, value from) of the member of an object at `at`; the first below zero where there is none."""
    if at >= end:
        return INCOMPLETE, 0, 0
    if data[at] != 0x22:
        return MALFORMED, 0, 0
    after = text(data, at, end)
    if after < 0:
        return after, 0, 0
    colon = blank(data, after, end)
    if colon >= end:
        return INCOMPLETE, 0, 0
    if data[colon] != 0x3A:
        return MALFORMED, 0, 0
    return at + 1, after - 1, blank(data, colon + 1, end)


@compiled(nogil=True)
def follows(data, at, end):  # type: ignore[no-untyped-def]
    """Behind a member: (True, where its object ends), (False, where the next member begins), or a negative position."""
    at = blank(data, at, end)
    if at >= end:
        return False, INCOMPLETE
    if data[at] == 0x7D:
        return True, at + 1
    if data[at] != 0x2C:
        return False, MALFORMED
    at = blank(data, at + 1, end)
    return False, at if at < end else INCOMPLETE


_WORDS = ("External id", "correlation", "stream", "device", "Input Dims")
_EXTERNAL, _CORRELATION, _STREAM, _DEVICE, _DIMS = (np.frombuffer(word.encode(), np.uint8) for word in _WORDS)


@compiled(nogil=True)
def _arguments(data, at, end, row, dims):  # type: ignore[no-untyped-def]
    """Behind the object `args` at `at`; its numbers of interest go to `row`, the place of `Input Dims` to `dims`."""
    at = blank(data, at + 1, end)
    if at < end and data[at] == 0x7D:
        return at + 1
    while True:
        key, key_end, begun = member(data, at, end)
        if key < 0:
            return key
        done = value(data, begun, end)
        if done < 0:
            return done
        if _is(data, key, key_end, _CORRELATION):
            row[CORRELATION] = _whole(data, begun, done)
        elif _is(data, key, key_end, _EXTERNAL):
            row[EXTERNAL] = _whole(data, begun, done)
        elif _is(data, key, key_end, _STREAM):
            row[STREAM] = _whole(data, begun, done)
        elif _is(data, key, key_end, _DEVICE):
            row[DEVICE] = _whole(data, begun, done)
        elif _is(data, key, key_end, _DIMS):
            dims[0], dims[1] = begun, done
        ended, at = follows(data, done, end)
        if ended or at < 0:
            return at


# What `_object` finds on the way: the phase, where the name and the dimensions stand, whether both times are known.
_PHASE, _NAME_AT, _NAME_END, _TIMED, _FRACTION = range(5)


@compiled(nogil=True)
def _object(data, at, end, row, dims, found, categories):  # type: ignore[no-untyped-def]
    """Behind the event at `at` (its opening brace), or INCOMPLETE, MALFORMED; fills `row`, `dims` and `found`."""
    row[:] = ABSENT
    found[:] = 0
    dims[0] = dims[1] = 0
    row[DURATION] = row[ARGS_LENGTH] = row[THREAD] = 0
    at = blank(data, at + 1, end)
    if at < end and data[at] == 0x7D:
        return at + 1
    while True:
        key, key_end, begun = member(data, at, end)
        if key < 0:
            return key
        if begun >= end:
            return INCOMPLETE
        size, one = key_end - key, data[key]
        if size == 4 and one == 0x61 and data[begun] == 0x7B:  # args
            done = _arguments(data, begun, end, row, dims)
            row[ARGS_AT], row[ARGS_LENGTH] = begun, done - begun
        else:
            done = value(data, begun, end)
        if done < 0:
            return done
        if size == 2 and one == 0x70 and data[key + 1] == 0x68:  # ph
            found[_PHASE] = data[begun + 1] if data[begun] == 0x22 and done == begun + 3 else 0
        elif size == 2 and one == 0x74:  # ts
            known, row[START], fraction = nanoseconds(data, begun, done)
            found[_TIMED] += known
            found[_FRACTION] += fraction
        elif size == 3 and one == 0x64:  # dur
            known, row[DURATION], fraction = nanoseconds(data, begun, done)
            found[_TIMED] -= not known
        elif size == 3 and one == 0x74:  # tid
            row[THREAD] = max(_whole(data, begun, done), 0)
        elif size == 3 and one == 0x63 and data[begun] == 0x22:  # cat
            row[KIND] = _category(data, begun + 1, done - 1, categories)
        elif size == 4 and one == 0x6E and data[begun] == 0x22:  # name
            found[_NAME_AT], found[_NAME_END] = begun + 1, done - 1
        ended, at = follows(data, done, end)
        if ended or at < 0:
            return at


@compiled(nogil=True)
def events(data, at, end, categories, hashes, ids, shaped, counters, rows, fresh):  # type: ignore[no-untyped-def]
    """Parses objects of `traceEvents` from `at`: (why it stopped, where: for MORE and BROKEN the brace of the object).

    `categories`: hashes of the lower-case categories that count; `hashes`, `ids`: the table of names, a power of two long;
    names with a number in 1 … `shaped` have their `Input Dims` interned as well (column SHAPE); `counters`, `rows` and
    `fresh` as their constants say.
    """
    row = np.empty(COLUMNS, np.int64)
    dims, found = np.zeros(2, np.int64), np.zeros(5, np.int64)
    while True:
        at = blank(data, at, end)
        while at < end and data[at] == 0x2C:
            at = blank(data, at + 1, end)
        if at >= end:
            return MORE, at
        if data[at] == 0x5D:
            return CLOSED, at + 1
        if counters[ROWS] == len(rows) or counters[FRESH] + 2 > len(fresh):
            return FULL, at
        if data[at] != 0x7B:
            return BROKEN, at
        done = _object(data, at, end, row, dims, found, categories)
        if done == INCOMPLETE:
            return MORE, at
        if done < 0:
            return BROKEN, at
        row[NUMBER] = counters[EVENTS]
        counters[EVENTS] += 1
        at = done
        if found[_PHASE] != 0x58 or row[KIND] < 0:
            continue
        if found[_TIMED] != 1 or row[DURATION] < 0:
            counters[UNTIMED] += 1
            continue
        counters[FRACTION] |= found[_FRACTION]
        begun, length = found[_NAME_AT], found[_NAME_END] - found[_NAME_AT]
        key = fingerprint(data, begun, begun + length, np.uint64(0xCBF29CE484222325))
        row[NAME] = intern(key, hashes, ids, counters, fresh, begun, length, ABSENT)
        if 0 < row[NAME] <= shaped and dims[1] > dims[0]:
            key = fingerprint(data, dims[0], dims[1], key * np.uint64(0x9E3779B97F4A7C15))
            row[SHAPE] = intern(key, hashes, ids, counters, fresh, dims[0], dims[1] - dims[0], row[NAME])
        rows[counters[ROWS]] = row
        counters[ROWS] += 1


@compiled(nogil=True)
def next_object(data, at, end):  # type: ignore[no-untyped-def]
    """The next opening brace from `at` that a key of an event follows (`"ph"`, `"cat"`, `"name"`, `"ts"`, `"pid"`), or `end`."""
    while at < end:
        if data[at] == 0x7B:
            key = blank(data, at + 1, end)
            if key >= end:
                return at
            if data[key] == 0x22:
                done = text(data, key, end)
                size = done - key - 2
                one = data[key + 1] if done > 0 and size > 0 else 0
                if done == INCOMPLETE or (size == 2 and (one == 0x70 or one == 0x74)):
                    return at
                if (size == 3 and (one == 0x63 or one == 0x70)) or (size == 4 and one == 0x6E):
                    return at
        at += 1
    return end
