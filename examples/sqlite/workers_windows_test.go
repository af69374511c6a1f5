package sqlite_test

import "context"

var workers map[string]func(ctx context.Context, path, name string) error // none
