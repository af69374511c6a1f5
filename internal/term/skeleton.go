package term

import (
	"strings"
	"sync"
	"unicode"
)

// Skeleton returns text for comparison: what a person reads as the same becomes
// the same. Control sequences and what [Invisible] names are dropped, and so are
// accents and strokes that are characters of their own (U+0300 to U+036F).
// Letters, digits and punctuation marks that look like those of ASCII become them
// (Cyrillic, Greek, full-width, mathematical, raised, in circles, small capitals,
// ligatures), each blank but line feed and tab becomes U+0020, and upper case
// becomes lower case. The skeleton of a skeleton is itself. It is not meant to be
// shown.
//
// It does not cover what needs more than a look at one character or would make
// honest words the same: accents that are part of a letter (é), digits for letters
// (0 and O, 1 and l), pairs that look like one letter (rn and m), letters upside
// down, other scripts. Nor does it fold white space.
func Skeleton(text string) string {
	known := lookalikes()
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range Clean(text) {
		to, found := known[r]
		if !found && r >= 0x80 {
			r = unicode.ToLower(r)
			to, found = known[r]
		}
		switch {
		case found:
			b.WriteString(to)
		case r >= 0x300 && r <= 0x36f:
		case r < 0x80:
			b.WriteRune(unicode.ToLower(r))
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// lookalikes are characters beyond ASCII with those they look like. To extend it,
// add to a row of single letters, each above its like, to the list of those that
// look like several, or to the ranges, in which a row of letters is repeated.
var lookalikes = sync.OnceValue(func() map[rune]string {
	known := map[rune]string{}
	for _, row := range [][2]string{
		// Cyrillic
		{"АВСЕНІЈКМОРЅТХУԚԜҮҺӀԌЬЗ",
			"abcehijkmopstxyqwyhlgb3"},
		{"авсеніјкморѕтхуԛԝүһӏԁԍьгпи",
			"abcehijkmopstxyqwyhldgbrnu"},
		// Greek
		{"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳ",
			"abezhikmnoptyxcj"},
		{"αβεηικνορστυχωϲγµ",
			"abenikvopotuxwcyμ"},
		// Latin small capitals, and letters without their dot or with a stroke
		{"ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ",
			"abcdefghijklmnopqrstuvwyz"},
		{"ıȷɑɡſłøđħŧɩɫ",
			"ijagslodhtil"},
		// raised and lowered
		{"ᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁᵂªº",
			"abdeghijklmnoprtuwao"},
		{"ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ",
			"abcdefghijklmnoprstuvwxyz"},
		{"ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ",
			"aehijklmnoprstuvx"},
		{"⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉",
			"01234567890123456789"},
		// letters that are signs of their own
		{"ℂℊℋℌℍℎℐℑℒℓℕℙℚℛℜℝℤℨℬℭℯℰℱℳℴℹⅅⅆⅇⅈⅉ",
			"cghhhhiillnpqrrrzzbceefmoiddeij"},
		{"ⅠⅤⅩⅬⅭⅮⅯⅰⅴⅹⅼⅽⅾⅿ",
			"ivxlcdmivxlcdm"},
		// punctuation
		{"‘’‚‛′´ʼʹˈ“”„‟″«»",
			`'''''''''"""""""`},
		{"‐‑‒–—―−⁃⁄∕·•․∶ː∗‹›〈〉",
			"--------//...::*<><>"},
	} {
		likes := []rune(row[1])
		for i, r := range []rune(row[0]) {
			known[r] = string(likes[i])
		}
	}
	for likes, of := range map[string]string{
		"ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ", "ffi": "ﬃ", "ffl": "ﬄ", "st": "ﬅﬆ", "ij": "ĳ", "ae": "æ", "oe": "œ",
		"ii": "Ⅱⅱ", "iii": "Ⅲⅲ", "iv": "Ⅳⅳ", "vi": "Ⅵⅵ", "vii": "Ⅶⅶ", "viii": "Ⅷⅷ", "ix": "Ⅸⅸ", "xi": "Ⅺⅺ", "xii": "Ⅻⅻ",
		"...": "…", "..": "‥", "!!": "‼", "??": "⁇", "?!": "⁈", "!?": "⁉", "no": "№", "tm": "™", "sm": "℠",
	} {
		for _, r := range of {
			known[r] = likes
		}
	}
	const latin = "abcdefghijklmnopqrstuvwxyz"
	for _, row := range []struct {
		first, last rune
		likes       string
	}{
		{0xff01, 0xff5e, "!\"#$%&'()*+,-./0123456789:;<=>?@" + latin + "[\\]^_`" + latin + "{|}~"}, // full width
		{0x1d400, 0x1d6a3, latin}, // mathematical letters: bold, italic, script, Fraktur, double-struck, sans-serif, monospace
		{0x1d6a8, 0x1d7cb, "abyδezhθiklmnξoπpθotyφxψw∇abyδeζnθikλμvξoπpςotuφxψw∂eθkφpπ"}, // the same of Greek
		{0x1d7ce, 0x1d7ff, "0123456789"},
		{0x2460, 0x2468, "123456789"}, // in circles, brackets and squares
		{0x249c, 0x24b5, latin},
		{0x24b6, 0x24e9, latin},
		{0x1f110, 0x1f129, latin},
		{0x1f130, 0x1f149, latin},
		{0x1f150, 0x1f169, latin},
		{0x1f170, 0x1f189, latin},
	} {
		likes := []rune(row.likes)
		for i := range row.last - row.first + 1 {
			known[row.first+i] = string(likes[int(i)%len(likes)])
		}
	}
	return known
})
