// Package markdown holds tests alone: package tasks, which reads lists line by line, finds
// the boxes that goldmark finds, a parser of all of CommonMark. It is a module of its own
// so that nobody who uses the library needs goldmark.
package markdown
