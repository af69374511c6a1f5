package stream

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// sql takes over a query of an agent's. Copilot keeps its list of what is to be done in a
// table todos, which it tells in no other way: what it adds to it, and that items get
// another state, is shown as the list. All else is what the agent says it is.
//
// Only these forms of two statements are understood, several of them with semicolons
// between:
//
//	INSERT INTO todos (id, title, status) VALUES ('a', 'Do it', 'pending'), ...
//	UPDATE todos SET status = 'done' WHERE id = 'a'
func (d *Decoder) sql(c call, input *jsonlines.Value) {
	query, seen := sqlQuery{sqlWords(input.Str("query"))}, false
	for len(query.words) > 0 {
		statement := query.until(";")
		switch {
		case statement.begins("insert", "into", "todos") || statement.begins("insert", "or", "replace", "into", "todos") || statement.begins("insert", "or", "ignore", "into", "todos"):
			seen = d.sqlInsert(statement) || seen
		case statement.begins("update", "todos", "set"):
			seen = d.sqlUpdate(statement) || seen
		}
	}
	if !seen {
		d.shows(c, input.FirstOf("description", "query"))
		return
	}
	d.list(c, d.kept)
}

// sqlInsert adds the rows of a statement; false = there is none in it.
func (d *Decoder) sqlInsert(q sqlQuery) bool {
	q.until("(")
	columns := q.until(")")
	if !q.begins("values") {
		return false
	}
	added := false
	for len(q.words) > 0 {
		q.until("(")
		row := q.until(")")
		t := todo{mark: todoMark("")}
		for n := 0; len(row.words) > 0; n++ {
			value := row.until(",")
			if n >= len(columns.names()) || len(value.words) != 1 {
				continue
			}
			switch text := value.words[0].text; columns.names()[n] {
			case "id":
				t.id = text
			case "title":
				t.text = text
			case "status":
				t.mark = todoMark(text)
			}
		}
		if t.text == "" {
			continue
		}
		added = true
		if n := slices.IndexFunc(d.kept, func(o todo) bool { return o.id == t.id }); n >= 0 && t.id != "" {
			d.kept[n].mark = t.mark
			d.kept[n].changed("", t.text)
			continue
		}
		d.keep(t)
	}
	return added
}

// sqlUpdate gives items another state: all, or those whose ids the rest of the statement
// names; false = there is none.
func (d *Decoder) sqlUpdate(q sqlQuery) bool {
	set := q.until("where")
	status := ""
	for len(set.words) > 0 {
		if field := set.until(","); field.begins("status", "=") && len(field.words) == 1 {
			status = field.words[0].text
		}
	}
	all := len(q.words) == 0
	byID := q.begins("id", "=") || q.begins("id", "in")
	found := false
	for n := range d.kept {
		named := func(w sqlWord) bool { return w.quoted && w.text == d.kept[n].id }
		if status != "" && (all || byID && slices.ContainsFunc(q.words, named)) {
			d.kept[n].changed(status, "")
			found = true
		}
	}
	return found
}

// An sqlWord is a name, a sign, or a text that stood in quotation marks.
type sqlWord struct {
	text   string
	quoted bool
}

// An sqlQuery is words that are read from the beginning.
type sqlQuery struct{ words []sqlWord }

// until takes the words before a sign or name, and that one away; all if it is not there.
func (q *sqlQuery) until(end string) sqlQuery {
	n := slices.IndexFunc(q.words, func(w sqlWord) bool { return !w.quoted && strings.EqualFold(w.text, end) })
	if n < 0 {
		n = len(q.words)
	}
	taken := sqlQuery{q.words[:n]}
	q.words = q.words[min(n+1, len(q.words)):]
	return taken
}

// begins takes names away, if the words begin with them all.
func (q *sqlQuery) begins(names ...string) bool {
	for n, name := range names {
		if n >= len(q.words) || !strings.EqualFold(q.words[n].text, name) {
			return false
		}
	}
	q.words = q.words[len(names):]
	return true
}

// names are the words without the signs between them.
func (q sqlQuery) names() []string {
	var names []string
	for _, w := range q.words {
		if w.text != "," {
			names = append(names, strings.ToLower(w.text))
		}
	}
	return names
}

// sqlWords are the words of a query, whose end may be missing.
func sqlWords(query string) []sqlWord {
	var words []sqlWord
	for query = strings.TrimLeft(query, " \t\r\n"); query != ""; query = strings.TrimLeft(query, " \t\r\n") {
		if query[0] == '\'' {
			text, rest := sqlText(query[1:])
			words, query = append(words, sqlWord{text, true}), rest
			continue
		}
		end := strings.IndexAny(query, " \t\r\n'(),;=")
		if end < 0 {
			end = len(query)
		}
		end = max(end, 1)
		words = append(words, sqlWord{text: strings.Trim(query[:end], "`\"")})
		query = query[end:]
	}
	return words
}

// sqlText is a text up to its quotation mark, which stands twice for itself, and the rest.
func sqlText(query string) (text, rest string) {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(query, "'")
		b.WriteString(before)
		if !ok || !strings.HasPrefix(after, "'") {
			return b.String(), after
		}
		b.WriteByte('\'')
		query = after[1:]
	}
}
