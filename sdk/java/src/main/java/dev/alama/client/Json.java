package dev.alama.client;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON as RFC 8259 has it, and nothing besides: no comments, no NaN, no comma at the end.
 *
 * <p>Read as {@code Map}, {@code List}, {@code String}, {@code Boolean}, null, and numbers exactly as they came: {@code
 * Long} ({@code BigInteger} where that is too small), or {@code BigDecimal} with a fraction or an exponent.
 */
final class Json {
    private static final int DEPTH_MAX = 200;
    private static final int NUMBER_LENGTH_MAX = 1_000;

    private final String text;
    private int at;
    private int depth;

    private Json(String text) {
        this.text = text;
    }

    /** Read one value; {@code IllegalArgumentException} where that is not what came. */
    static Object read(byte[] body) {
        String text;
        try {
            text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString();
        } catch (CharacterCodingException error) {
            throw new IllegalArgumentException("it is not UTF-8", error);
        }
        Json json = new Json(text);
        Object value = json.value();
        json.peek();
        if (json.at < text.length()) {
            throw json.malformed();
        }
        return value;
    }

    private Object value() {
        switch (peek()) {
            case '{':
                return object();
            case '[':
                return array();
            case '"':
                return string();
            case 't':
                return word("true", Boolean.TRUE);
            case 'f':
                return word("false", Boolean.FALSE);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> members = new LinkedHashMap<>();
        open('{');
        if (peek() != '}') {
            do {
                if (peek() != '"') {
                    throw malformed();
                }
                String name = string();
                take(':');
                members.put(name, value());
            } while (another('}'));
        }
        close('}');
        return new Members(members);
    }

    private List<Object> array() {
        List<Object> items = new ArrayList<>();
        open('[');
        if (peek() != ']') {
            do {
                items.add(value());
            } while (another(']'));
        }
        close(']');
        return Collections.unmodifiableList(items);
    }

    private void open(char bracket) {
        take(bracket);
        if (++depth > DEPTH_MAX) {
            throw malformed();
        }
    }

    private void close(char bracket) {
        take(bracket);
        depth--;
    }

    /** Whether a comma says that more comes, or the bracket that it ends. */
    private boolean another(char bracket) {
        if (peek() == bracket) {
            return false;
        }
        take(',');
        return true;
    }

    private String string() {
        StringBuilder found = new StringBuilder();
        at++; // its quotation mark
        while (true) {
            char next = next();
            if (next == '"') {
                return found.toString();
            }
            if (next < ' ') {
                throw malformed();
            }
            found.append(next == '\\' ? escaped() : next);
        }
    }

    private char escaped() {
        char next = next();
        switch (next) {
            case '"', '\\', '/':
                return next;
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                int code = 0;
                for (int digits = 0; digits < 4; digits++) {
                    char letter = next();
                    int digit = letter < 128 ? Character.digit(letter, 16) : -1;
                    if (digit < 0) {
                        throw malformed();
                    }
                    code = 16 * code + digit;
                }
                return (char) code;
            default:
                throw malformed();
        }
    }

    private Object number() {
        int start = at;
        skip('-');
        if (!skip('0')) {
            digits();
        }
        boolean whole = true;
        if (skip('.')) {
            whole = false;
            digits();
        }
        if (skip('e') || skip('E')) {
            whole = false;
            if (!skip('+')) {
                skip('-');
            }
            digits();
        }
        String found = text.substring(start, at);
        if (found.length() > NUMBER_LENGTH_MAX) {
            throw malformed();
        }
        if (!whole) {
            return new BigDecimal(found); // an exponent beyond all measure is a NumberFormatException
        }
        BigInteger number = new BigInteger(found);
        return number.bitLength() < Long.SIZE ? (Object) number.longValue() : number;
    }

    private void digits() {
        int start = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == start) {
            throw malformed();
        }
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw malformed();
        }
        at += word.length();
        return value;
    }

    /** The next letter that is no space; at the end one that can stand nowhere in JSON. */
    private char peek() {
        while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    private char next() {
        if (at == text.length()) {
            throw malformed();
        }
        return text.charAt(at++);
    }

    private void take(char expected) {
        if (peek() != expected) {
            throw malformed();
        }
        at++;
    }

    private boolean skip(char letter) {
        boolean there = at < text.length() && text.charAt(at) == letter;
        at += there ? 1 : 0;
        return there;
    }

    private IllegalArgumentException malformed() {
        return new IllegalArgumentException("it is no JSON at letter " + at);
    }

    // -------------------------------------------------------------------------------------------- writing

    /** Write a value; {@link InvalidArgument} where JSON has none like it, with the name of the member. */
    static byte[] write(Object value) {
        StringBuilder text = new StringBuilder();
        write("a value", value, text);
        return text.toString().getBytes(StandardCharsets.US_ASCII);
    }

    private static void write(String name, Object value, StringBuilder text) {
        if (value == null || value instanceof Boolean) {
            text.append(value);
        } else if (value instanceof CharSequence || value instanceof LocalDate) {
            writeString(value.toString(), text);
        } else if (value instanceof Number number) {
            writeNumber(name, number, text);
        } else if (value instanceof Map<?, ?> members) {
            text.append('{');
            String comma = "";
            for (Map.Entry<?, ?> member : members.entrySet()) {
                if (!(member.getKey() instanceof String key)) {
                    throw new InvalidArgument("a member of " + name + " has a name that is no text");
                }
                writeString(key, text.append(comma));
                write(key, member.getValue(), text.append(':'));
                comma = ",";
            }
            text.append('}');
        } else if (value instanceof Iterable<?> items) {
            text.append('[');
            String comma = "";
            for (Object item : items) {
                write(name, item, text.append(comma));
                comma = ",";
            }
            text.append(']');
        } else {
            String type = value.getClass().getName();
            throw new InvalidArgument(name + " is of a type that cannot be sent as JSON: " + type);
        }
    }

    private static void writeNumber(String name, Number number, StringBuilder text) {
        if ((number instanceof Double || number instanceof Float) && !Double.isFinite(number.doubleValue())) {
            throw new InvalidArgument(name + " is NaN or infinite, which JSON cannot say");
        }
        try {
            text.append(new BigDecimal(number.toString()));
        } catch (NumberFormatException error) { // a kind of number of their own, whose words may show it
            throw new InvalidArgument(name + " is a number that cannot be sent as JSON");
        }
    }

    /** In ASCII alone, so that no half of a pair of surrogates is lost on its way. */
    private static void writeString(String string, StringBuilder text) {
        text.append('"');
        for (char letter : string.toCharArray()) {
            if (letter == '"' || letter == '\\') {
                text.append('\\').append(letter);
            } else if (letter >= ' ' && letter < 127) {
                text.append(letter);
            } else {
                text.append(String.format("\\u%04x", (int) letter));
            }
        }
        text.append('"');
    }
}
