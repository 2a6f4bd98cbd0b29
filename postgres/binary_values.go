package postgres

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// binaryFormat asks for all values in the binary format of the protocol.
var binaryFormat = []int16{1}

// encode writes the arguments of a request in the binary format. Their types must be those that the statement declares.
func encode(args []any) [][]byte {
	buf, values := make([]byte, 0, 256), make([][]byte, len(args))
	for i, arg := range args {
		from := len(buf)
		switch v := arg.(type) {
		case int16:
			buf = binary.BigEndian.AppendUint16(buf, uint16(v))
		case int32:
			buf = binary.BigEndian.AppendUint32(buf, uint32(v))
		case int64:
			buf = binary.BigEndian.AppendUint64(buf, uint64(v))
		case *int64:
			if v == nil {
				continue
			}
			buf = binary.BigEndian.AppendUint64(buf, uint64(*v))
		case bool:
			buf = append(buf, 0)
			if v {
				buf[from] = 1
			}
		case string:
			buf = append(buf, v...)
		case time.Duration:
			buf = appendInterval(buf, v)
		case *time.Duration:
			if v == nil {
				continue
			}
			buf = appendInterval(buf, *v)
		case []int32:
			buf = appendArray(buf, pgtype.Int4OID, v, func(buf []byte, n int32) []byte {
				return binary.BigEndian.AppendUint32(buf, uint32(n))
			})
		case []int64:
			buf = appendArray(buf, pgtype.Int8OID, v, func(buf []byte, n int64) []byte {
				return binary.BigEndian.AppendUint64(buf, uint64(n))
			})
		case []string:
			buf = appendArray(buf, pgtype.TextOID, v, func(buf []byte, s string) []byte { return append(buf, s...) })
		case []time.Duration:
			buf = appendArray(buf, pgtype.IntervalOID, v, appendInterval)
		default:
			panic(fmt.Sprintf("an argument of a request is a %T", arg))
		}
		values[i] = buf[from:len(buf):len(buf)]
	}
	return values
}

// appendInterval writes an interval of microseconds, without days and months.
func appendInterval(buf []byte, d time.Duration) []byte {
	return append(binary.BigEndian.AppendUint64(buf, uint64(d.Microseconds())), 0, 0, 0, 0, 0, 0, 0, 0)
}

// appendArray writes an array of one dimension.
func appendArray[T any](buf []byte, oid uint32, all []T, appendOne func([]byte, T) []byte) []byte {
	dimensions := min(uint32(len(all)), 1)
	buf = binary.BigEndian.AppendUint32(buf, dimensions)
	buf = binary.BigEndian.AppendUint32(buf, 0) // none is NULL
	buf = binary.BigEndian.AppendUint32(buf, oid)
	if dimensions > 0 {
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(all)))
		buf = binary.BigEndian.AppendUint32(buf, 1) // the index of the first
	}
	for _, one := range all {
		at := len(buf)
		buf = appendOne(append(buf, 0, 0, 0, 0), one)
		binary.BigEndian.PutUint32(buf[at:], uint32(len(buf)-at-4))
	}
	return buf
}

// decode reads a row of one value in the binary format.
func decode(row [][]byte, dest any) error {
	if len(row) != 1 {
		return fmt.Errorf("postgres: %w", errNoAnswer)
	}
	ok := false
	switch to := dest.(type) {
	case *bool:
		if ok = len(row[0]) == 1; ok {
			*to = row[0][0] != 0
		}
	case **bool:
		if ok = row[0] == nil || len(row[0]) == 1; ok && row[0] != nil {
			held := row[0][0] != 0
			*to = &held
		}
	case *[]*int64:
		if row[0] == nil {
			return nil
		}
		*to, ok = numbers(row[0])
	}
	if !ok {
		return fmt.Errorf("postgres: %w: it is no %T", errNoAnswer, dest)
	}
	return nil
}

// numbers reads a one-dimensional array of bigint. NULL becomes nil.
func numbers(b []byte) (all []*int64, ok bool) {
	const head = 5 * 4 // dimensions, whether there is NULL, type, length, index of the first
	if len(b) < head || binary.BigEndian.Uint32(b) != 1 {
		return nil, false
	}
	n := binary.BigEndian.Uint32(b[12:])
	b = b[head:]
	if uint64(n)*4 > uint64(len(b)) {
		return nil, false
	}
	all = make([]*int64, n)
	for i := range all {
		if len(b) < 4 {
			return nil, false
		}
		length := int32(binary.BigEndian.Uint32(b))
		b = b[4:]
		if length == -1 {
			continue // NULL
		}
		if length != 8 || len(b) < 8 {
			return nil, false
		}
		v := int64(binary.BigEndian.Uint64(b))
		all[i], b = &v, b[8:]
	}
	return all, len(b) == 0
}
