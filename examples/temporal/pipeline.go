package temporal

type stage struct{}
