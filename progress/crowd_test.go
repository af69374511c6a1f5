package progress_test

func crowdProgram(args []string) error { return nil }
