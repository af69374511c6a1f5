package tasks

import (
	"slices"
	"strings"
	"unicode"
)

// criteriaNames are what headings are called below which boxes say how the work is
// judged, in lower case. A loop that waits for such boxes does not end, since nobody
// ticks them before all is done. Another language is a few more lines; a name must be
// one that no heading for tasks has.
//
// A heading may say more before or behind the name: "MVP success criteria", "Definition
// of done (US1)". In Chinese and Japanese, which put no blanks between words, it begins
// or ends with the name.
var criteriaNames = [...]string{
	// English
	"success criteria", "acceptance criteria", "acceptance criterion", "completion criteria", "exit criteria", "done criteria", "success metrics",
	"definition of done", "definition of ready", "dod", "qa results", "done when",
	"acceptance checklist", "verification checklist", "validation checklist", "review checklist", "quality checklist",
	// German
	"erfolgskriterien", "akzeptanzkriterien", "abnahmekriterien", "abschlusskriterien", "definition of done (dod)", "fertigstellungskriterien",
	"qualitätskriterien", "abnahmecheckliste", "checkliste",
	// Spanish
	"criterios de éxito", "criterios de exito", "criterios de aceptación", "criterios de aceptacion", "criterios de finalización", "definición de hecho",
	"definición de terminado", "definición de listo", "lista de verificación",
	// French
	"critères de succès", "critères de réussite", "critères d'acceptation", "critères d’acceptation", "critères de fin", "critères de validation",
	"définition de terminé", "définition de fini", "définition du terminé", "liste de vérification",
	// Portuguese
	"critérios de sucesso", "critérios de aceitação", "critérios de aceite", "critérios de conclusão", "definição de pronto", "definição de concluído",
	"lista de verificação",
	// Chinese
	"成功标准", "验收标准", "验收条件", "完成标准", "完成定义", "完成的定义", "成功標準", "驗收標準", "驗收條件", "完成標準", "完成定義", "成功指标", "检查清单", "验收清单", "退出标准",
	// Japanese
	"成功基準", "成功条件", "受け入れ基準", "受入基準", "受け入れ条件", "受入条件", "完了条件", "完了基準", "完了の定義", "完成の定義", "チェックリスト",
}

// doing are first words of headings that say to do something about criteria: below them
// are tasks. To take tasks for criteria leaves work undone in silence, which is worse
// than the opposite.
var doing = [...]string{
	"add", "define", "write", "create", "update", "implement", "verify", "validate", "check", "review", "document", "meet", "test",
}

// isCriteria reports whether a section holds criteria and not tasks: "Success
// criteria", "3. Definition of Done (US1)", "Phase 2: Acceptance criteria". A
// heading that says to do something about them, "Verify success criteria", is
// one of tasks.
func isCriteria(title string) bool {
	title = strings.ToLower(title)
	for _, mark := range [...]string{"*", "_", "`"} {
		title = strings.ReplaceAll(title, mark, "")
	}
	// What stands in parentheses or behind a dash says more about the name, and is not
	// part of it.
	whole := title
	for _, end := range [...]string{"(", "（", "[", " - ", " – ", " — "} {
		title, _, _ = strings.Cut(title, end)
	}
	title = strings.TrimRight(title, ": .：")
	for _, colon := range [...]string{":", "："} {
		if _, name, found := strings.Cut(title, colon); found {
			title = name
		}
	}
	title = strings.TrimLeftFunc(title, func(c rune) bool { return !unicode.IsLetter(c) }) // numbers and emoji
	title = strings.Join(strings.Fields(title), " ")
	first, rest, _ := strings.Cut(title, " ")
	if slices.Contains(doing[:], first) {
		return rest == "checklist"
	}
	for _, name := range criteriaNames {
		before, found := strings.CutSuffix(title, name)
		behind, begins := strings.CutPrefix(title, name)
		wide := name[0] >= 0xe0 // its script has no blanks between words
		if found && (before == "" || wide || strings.HasSuffix(before, " ")) || begins && (wide || strings.HasPrefix(behind, " ")) {
			return true
		}
	}
	return title == "checklist" && !strings.Contains(whole, "(")
}

// label begins a section of the boxes below a line like "**Acceptance criteria:**",
// which the next paragraph ends. Lists that are made from templates have such a line
// below each task, where a heading would be too much. It must be all of its line: in a
// sentence the words name nothing.
func (s *scanner) label(line string) {
	now, name := s.sections[len(s.sections)-1], ""
	if s.criteria > 0 || len(s.open) > 1 {
		return
	}
	if t, bold := strings.CutPrefix(line, "**"); bold {
		t, behind, _ := strings.Cut(t, "**")
		if strings.Trim(behind, " \t:：") == "" && isCriteria(t) {
			name = t
		}
	}
	if name != now.criteria {
		s.sections = append(s.sections, section{title: now.title, line: now.line, criteria: name})
	}
}
