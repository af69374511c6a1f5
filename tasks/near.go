package tasks

func (s *scanner) nearBox(i, end int) {}
