package upstreams

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"tarn/memory"
)

// Log returns an upstream that writes a record to l, at a level, for every
// call to up once it has ended. The message is the name of the call; its
// attributes are the device, the arguments, the results or else the error,
// and the duration.
func Log(up memory.Upstream, l *slog.Logger, level slog.Level) memory.Upstream {
	ctx, device := context.Background(), slog.String("device", up.Props().Name)
	return &tap{up, func(c *Call) {
		if !l.Enabled(ctx, level) {
			c.on(up)
			return
		}
		start := time.Now()
		c.on(up)
		took := slog.Duration("duration", time.Since(start))
		l.LogAttrs(ctx, level, c.Name.String(), append(append([]slog.Attr{device}, c.attrs()...), took)...)
	}}
}

// attrs are the arguments and results as a log has them.
func (c *Call) attrs() (attrs []slog.Attr) {
	hex := func(key string, v uintptr) { attrs = append(attrs, slog.String(key, fmt.Sprintf("%#x", v))) }
	if c.shows(hasSize) {
		attrs = append(attrs, slog.Int64("size", c.Size))
	}
	if c.shows(hasPtr) {
		hex("ptr", uintptr(c.Ptr))
	}
	if c.shows(hasPage) {
		attrs = append(attrs, slog.Uint64("page", uint64(c.Page)))
	}
	if c.shows(hasStream) {
		hex("stream", uintptr(c.Stream))
	}
	if c.shows(hasEvent) {
		hex("event", uintptr(c.Event))
	}
	if c.shows(hasDone) {
		attrs = append(attrs, slog.Bool("done", c.Done))
	}
	if c.shows(hasInfo) {
		attrs = append(attrs, slog.Int64("free", c.Free), slog.Int64("total", c.Total))
	}
	if c.Err != nil {
		attrs = append(attrs, slog.Any("error", c.Err))
	}
	return attrs
}
