### Texts of other libraries and of the operating system (cli/src/foreign.rs) that are clearer in other words.

## JSON.

foreign-at = line { $b }, column { $c }: { $a }
foreign-json-end = unexpected end of input
foreign-json-trailing = unexpected text after the end
foreign-json-comma = expected a comma or a closing bracket
foreign-json-colon = expected a colon
foreign-json-value = expected a value
foreign-json-key = keys must be strings
foreign-json-escape = invalid escape
foreign-json-control = control character in a string
foreign-nested = nested too deeply

## Values.

foreign-type = expected { $b }, found { $a }
foreign-value = must be { $b }, not { $a }
foreign-no-variant = the value has none of the allowed forms
foreign-a-map = an object
foreign-a-sequence = a list
foreign-whole-number = a whole number
foreign-an-integer = an integer
foreign-a-number = a number

## Numbers in arguments.

foreign-not-a-number = not a number
foreign-number-too-large = the number is too large
foreign-number-too-small = the number is too small
