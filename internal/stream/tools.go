package stream

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

// A how says in which form a tool's input is shown.
type how byte

const (
	asText   how = iota // the first field that is there
	asShell             // the same, a shell's command
	asPath              // the same, relative to the workspace
	asQuoted            // the same in quotation marks, and where: in the last field
	asTodos             // a list of what is to be done
	asTasks             // a change of such a list
	asSQL               // a query, which may be such a change
	asName              // not at all: the tool's name says it
	hidden              // nor is the tool: it is a thought
)

// A row says what is shown of the input of some tools. What is in no row, or holds none
// of the fields, is shown in a short form of all its fields.
type row struct {
	how           how
	names, fields string // separated by blanks
}

// A gist is a row's for one tool.
type gist struct {
	how    how
	fields []string
}

func gists(rows []row) map[string]gist {
	all := map[string]gist{}
	for _, r := range rows {
		for name := range strings.FieldsSeq(r.names) {
			all[name] = gist{r.how, strings.Fields(r.fields)}
		}
	}
	return all
}

func claudeTools() []row {
	return []row{
		{asShell, "Bash Monitor SlashCommand", "command"},
		{asText, "BashOutput KillBash KillShell TaskOutput TaskStop", "bash_id shell_id task_id"},
		{asPath, "Read Write Edit MultiEdit NotebookEdit NotebookRead LS", "file_path notebook_path path"},
		{asQuoted, "Glob Grep", "pattern path"},
		{asText, "WebFetch ReadMcpResourceTool", "url uri"},
		{asQuoted, "WebSearch ToolSearch", "query"},
		{asText, "Agent Task", "description prompt"},
		{asText, "Skill", "skill command"},
		{asTodos, "TodoWrite", ""},
		{asTasks, "TaskCreate TaskUpdate", "subject"},
		{asName, "AskUserQuestion EnterPlanMode ExitPlanMode TaskList TodoRead", ""},
	}
}

func ampTools() []row {
	return append(claudeTools(), []row{
		{asShell, "Bash", "cmd command"},
		{asPath, "Read create_file delete_file edit_file format_file get_diagnostics list_directory look_at undo_edit", "path"},
		{asQuoted, "Glob Grep glob", "pattern filePattern path"},
		{asQuoted, "codebase_search_agent finder librarian web_search", "query objective"},
		{asText, "oracle Task handoff", "task description goal"},
		{asText, "read_web_page", "url"},
		{asText, "painter mermaid", "prompt"},
		{asText, "skill", "name"},
		{asTodos, "todo_write", ""},
		{asName, "todo_read", ""},
	}...)
}

func geminiTools() []row {
	return []row{
		{asShell, "run_shell_command", "command"},
		{asPath, "read_file write_file replace edit", "file_path absolute_path path"},
		{asPath, "list_directory read_many_files", "dir_path path paths include"},
		{asQuoted, "glob grep_search search_file_content", "pattern dir_path path"},
		{asText, "web_fetch", "url prompt"},
		{asQuoted, "google_web_search", "query"},
		{asText, "codebase_investigator delegate_to_agent invoke_agent", "objective prompt agent_name"},
		{asText, "save_memory", "fact"},
		{asText, "activate_skill", "name"},
		{asText, "update_topic", "title summary"},
		{asTodos, "write_todos", ""},
		{asName, "ask_user enter_plan_mode exit_plan_mode complete_task", ""},
	}
}

func opencodeTools() []row {
	return []row{
		{asShell, "bash", "command"},
		{asPath, "read write edit multiedit list", "filePath path"},
		{asQuoted, "glob grep", "pattern path"},
		{asText, "webfetch", "url"},
		{asQuoted, "websearch codesearch", "query"},
		{asText, "task", "description prompt"},
		{asText, "skill", "name"},
		{asText, "invalid", "tool"},
		{asTodos, "todowrite", ""},
		{asName, "apply_patch patch plan_enter plan_exit question todoread", ""},
	}
}

func copilotTools() []row {
	return []row{
		{asShell, "bash powershell", "command"},
		{asPath, "view create edit str_replace_editor show_file", "path"},
		{asQuoted, "glob grep rg", "pattern path paths"},
		{asText, "web_fetch", "url"},
		{asQuoted, "web_search", "query"},
		{asText, "task", "description prompt"},
		{asText, "report_intent", "intent"},
		{asText, "store_memory", "fact"},
		{asText, "skill", "skill name"},
		{asSQL, "sql", "description query"},
		{asText, "task_complete", "summary"},
		{asTodos, "update_todo", ""},
		{asName, "apply_patch ask_user exit_plan_mode list_agents list_bash", ""},
		{hidden, "think", ""},
	}
}

// clineTools are those of the newer versions and, from readFile on, of the older ones.
func clineTools() []row {
	return []row{
		{asShell, "run_commands execute_command", "commands command"},
		{asPath, "editor write_to_file replace_in_file new_rule", "path file_path"},
		{asPath, "read_file read_files list_files list_code_definition_names", "path file_path files paths"},
		{asQuoted, "search_codebase search_files", "queries query regex path"},
		{asText, "fetch_web_content web_fetch browser_action", "requests url action"},
		{asQuoted, "web_search", "query"},
		{asText, "spawn_agent new_task use_subagents", "task prompt context"},
		{asText, "skills use_skill", "skill skill_name"},
		{asText, "use_mcp_tool access_mcp_resource", "tool_name uri"},
		{asTodos, "focus_chain", ""},
		{asName, "apply_patch ask_followup_question ask_question attempt_completion submit_and_exit", ""},

		{asPath, "readFile editedExistingFile newFileCreated fileDeleted listFilesTopLevel listFilesRecursive listCodeDefinitionNames", "path"},
		{asQuoted, "searchFiles", "regex path"},
		{asText, "webFetch webSearch useSkill", "path"},
	}
}

// cursorTools have the names of the stream without their ending.
func cursorTools() []row {
	return []row{
		{asShell, "shell", "command"},
		{asPath, "read write edit delete ls readLints", "path paths"},
		{asQuoted, "grep glob", "pattern globPattern path targetDirectory"},
		{asQuoted, "semSearch webSearch", "query searchTerm"},
		{asText, "fetch webFetch", "url"},
		{asText, "task", "description prompt"},
		{asText, "mcp", "name toolName"},
		{asTodos, "updateTodos", ""},
		{asName, "readTodos createPlan", ""},
	}
}

func kimiTools() []row {
	return []row{
		{asShell, "Bash Shell", "command"},
		{asPath, "ReadFile ReadMediaFile StrReplaceFile WriteFile", "path"},
		{asQuoted, "Glob Grep", "pattern directory path"},
		{asText, "FetchURL", "url"},
		{asQuoted, "SearchWeb", "query"},
		{asText, "Agent CreateSubagent Task", "description name prompt"},
		{asTodos, "SetTodoList", ""},
		{asName, "SendDMail", ""},
		{hidden, "Think", ""},
	}
}

// toolInput is what is shown of, or known from, a tool's input. Paths are whole, for
// they may be of files that a run has changed.
func toolInput() jsonlines.Filter {
	todos := jsonlines.Beginning()
	for _, name := range []string{"content", "text", "description", "title", "step", "status", "completed"} {
		todos.With(name, jsonlines.Beginning())
	}
	places := jsonlines.Beginning().With("path", jsonlines.Beginning()).With("url", jsonlines.Beginning())
	return jsonlines.Keys("file_path", "filePath", "notebook_path", "path").With("*", jsonlines.Beginning()).
		With("todos", todos).With("plan", todos).With("items", todos).With("files", places).With("requests", places)
}

// gist is what is shown of a tool's input.
func (d *Decoder) gist(name string, input *jsonlines.Value) string {
	g, known := d.tools[name]
	if !known {
		return short(input)
	}
	switch g.how {
	case asName:
		return ""
	case asPath:
		for _, f := range g.fields {
			if what := all(input.Get(f), d.place); what != "" {
				return what
			}
		}
		return short(input)
	case asQuoted:
		return d.quoted(g.fields, input)
	}
	as := d.command
	if g.how != asShell {
		as = nil
	}
	for _, f := range g.fields {
		if what := all(input.Get(f), as); what != "" {
			return what
		}
	}
	return short(input)
}

// quoted is the first of the fields in quotation marks, and where it is looked for.
func (d *Decoder) quoted(fields []string, input *jsonlines.Value) string {
	for _, f := range fields {
		what := all(input.Get(f), nil)
		if what == "" {
			continue
		}
		if strings.HasPrefix(f, "path") || strings.HasPrefix(f, "dir") {
			return d.place(what) // there is nothing else
		}
		what = `"` + what + `"`
		for _, in := range fields {
			if in == "path" || in == "paths" || in == "dir_path" || in == "directory" || in == "targetDirectory" {
				if where := all(input.Get(in), d.place); where != "" && where != "." {
					return what + " in " + where
				}
			}
		}
		return what
	}
	return short(input)
}

// all is a string, or those of a list, which may be one of objects, each as nil or the
// function gives it.
func all(v *jsonlines.Value, as func(string) string) string {
	items := v.Items()
	if !v.IsArray() {
		items = []*jsonlines.Value{v}
	}
	var list []string
	for _, item := range items {
		s := item.Scalar() + item.FirstOf("path", "url")
		if as != nil {
			s = as(s)
		}
		list = append(list, s)
	}
	return strings.Join(list, "; ")
}

// short is a short form of an input: its fields, of which each begins.
func short(input *jsonlines.Value) string {
	if !input.IsObject() {
		return input.Scalar()
	}
	var b strings.Builder
	for n, v := range input.Items() {
		if b.Len() > maxGist {
			break
		}
		what := cut(tidy(v.Scalar()), 60)
		switch {
		case v.IsObject():
			what = "{…}"
		case v.IsArray():
			what = "[…]"
		case strings.Contains(what, " ") || what == "":
			what = `"` + what + `"`
		}
		b.WriteString(input.Key(n) + "=" + what + " ")
	}
	return b.String()
}
