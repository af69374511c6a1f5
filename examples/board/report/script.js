"use strict";
// Sorting, folding, and unfolding what is printed. Without it all can be read as well.
(() => {
	const all = (within, what) => [...within.querySelectorAll(what)];
	const value = (row, at) => {
		const cell = row.cells[at];
		return cell.dataset.v ?? cell.textContent.trim();
	};
	const compare = (a, b) => {
		const numbers = [Number(a), Number(b)];
		if (a !== "" && b !== "" && !numbers.some(Number.isNaN)) return numbers[0] - numbers[1];
		return a.localeCompare(b, "en", { numeric: true });
	};
	const sort = (table, th) => {
		const down = th.getAttribute("aria-sort") === "ascending";
		const body = table.tBodies[0];
		const rows = [...body.rows].sort((a, b) => {
			const order = compare(value(a, th.cellIndex), value(b, th.cellIndex));
			return down ? -order : order;
		});
		for (const other of all(table, "th[aria-sort]")) other.setAttribute("aria-sort", "none");
		th.setAttribute("aria-sort", down ? "descending" : "ascending");
		body.append(...rows);
		document.getElementById("sorted").textContent = `sorted by ${th.textContent}, ${down ? "descending" : "ascending"}`;
	};
	for (const table of all(document, "table.sorts")) {
		for (const th of all(table, "th[aria-sort]")) {
			th.querySelector("button").addEventListener("click", () => sort(table, th));
		}
	}

	const fold = (open) => all(document, "details").forEach((d) => { d.open = open; });
	document.getElementById("unfold").addEventListener("click", () => fold(true));
	document.getElementById("fold").addEventListener("click", () => fold(false));
	let folded = [];
	addEventListener("beforeprint", () => {
		folded = all(document, "details:not([open])");
		for (const d of folded) d.open = true;
	});
	addEventListener("afterprint", () => {
		for (const d of folded) d.open = false;
		folded = [];
	});
	// A link that leads to what is folded unfolds it, and so does the address.
	const show = () => {
		const to = location.hash && document.getElementById(location.hash.slice(1));
		if (!to) return;
		for (let d = to.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
		for (const d of all(to, ":scope > .why > details")) d.open = true;
		to.scrollIntoView();
	};
	addEventListener("hashchange", show);
	show();
})();
