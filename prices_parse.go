package ralph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ParsePrices reads prices: a JSON object in which each model has an object with the
// fields input and output, and cache_read and cache_write where input of a cache
// costs something else, as numbers: US dollars for a million tokens.
//
//	{"my-model": {"input": 2.5, "output": 10, "cache_read": 0.25}, "*": {"input": 0, "output": 0}}
//
// It is strict, for a price that is misread is a budget that is not kept: what it
// does not know, a model or a field that comes twice, a field that is missing, and
// what is no amount are errors, which name the line and the model.
func ParsePrices(text []byte) (Prices, error) {
	r := &priceReader{text: text, json: json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))}
	// The text of a number is kept, so that one that is out of range is an error that
	// names its field.
	r.json.UseNumber()
	prices := Prices{}
	err := r.object("the prices are", func(model string) error {
		if strings.TrimSpace(model) == "" {
			return errors.New("a model has no name")
		}
		_, same := prices[model]
		if _, like := prices.row(model); same || like {
			return fmt.Errorf("%q: the model is there twice", clip(model, 80))
		}
		price, err := r.price()
		if err != nil {
			return fmt.Errorf("%q: %w", clip(model, 80), err)
		}
		prices[model] = price
		return nil
	})
	// What follows may be a second object that somebody meant to be read too.
	if _, more := r.json.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("something follows the prices")
	}
	if err != nil {
		return nil, fmt.Errorf("ralph: prices: line %d: %w", r.line(err), err)
	}
	return prices, nil
}

// A priceReader reads prices and knows where it is.
//
// It goes by tokens, for json.Unmarshal says nothing of a key that comes twice: the
// last one would win, and a wrong price would be used.
type priceReader struct {
	text []byte
	json *json.Decoder
}

// line is the line to which an error belongs. Offsets are what the decoder knows;
// people count lines.
func (r *priceReader) line(err error) int {
	at := r.json.InputOffset()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = syntax.Offset
	}
	return 1 + bytes.Count(r.text[:min(int(at), len(r.text))], []byte{'\n'})
}

// object reads an object, and calls member behind each of its keys.
func (r *priceReader) object(what string, member func(key string) error) error {
	if token, err := r.token(); err != nil {
		return err
	} else if token != json.Delim('{') {
		return fmt.Errorf("%s no JSON object", what)
	}
	for r.json.More() {
		key, err := r.token()
		if err != nil {
			return err
		}
		name, _ := key.(string) // nothing else can be a key
		if err := member(name); err != nil {
			return err
		}
	}
	_, err := r.token()
	return err
}

// token reads on. The end of the text inside of an object is unexpected, which the
// decoder's plain io.EOF does not say.
func (r *priceReader) token() (json.Token, error) {
	token, err := r.json.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return token, err
}

// price reads the object of one model. A field that is missing is an error and not
// free: a price of 0 is a claim of its own, for models on one's own machine.
func (r *priceReader) price() (Price, error) {
	var price Price
	var seen []string
	err := r.object("its price is", func(name string) error {
		i := slices.IndexFunc(price.fields(), func(f priceField) bool { return f.name == name })
		if i < 0 {
			return fmt.Errorf("there is no field %q; there are input, output, cache_read and cache_write", clip(name, 80))
		}
		if slices.Contains(seen, name) {
			return fmt.Errorf("%s is there twice", name)
		}
		seen = append(seen, name)
		token, err := r.token()
		if err != nil {
			return err
		}
		number, ok := token.(json.Number)
		if !ok {
			return fmt.Errorf("%s is no number", name)
		}
		value, err := number.Float64()
		if err != nil {
			return fmt.Errorf("%s is out of range", name)
		}
		if why := amiss(value); why != "" {
			return fmt.Errorf("%s %s", name, why)
		}
		*price.fields()[i].value = value
		return nil
	})
	for _, f := range price.fields() {
		if err == nil && f.needed && !slices.Contains(seen, f.name) {
			err = fmt.Errorf("%s is missing", f.name)
		}
	}
	return price, err
}
