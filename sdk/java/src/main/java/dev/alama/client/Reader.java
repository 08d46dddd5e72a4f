package dev.alama.client;

import java.lang.reflect.Constructor;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Makes answers of JSON: records, by the names and the types of their components. */
final class Reader {
    private Reader() {}

    /** Make a record of a JSON object; {@code IllegalArgumentException} where it cannot be one. */
    static <R extends Record> R read(Class<R> kind, Object said) {
        Map<String, Object> members = object(said);
        return read(kind, members, members);
    }

    /** The same, with something else kept as it came. */
    static <R extends Record> R read(Class<R> kind, Map<String, Object> members, Map<String, Object> raw) {
        RecordComponent[] components = kind.getRecordComponents();
        Object[] values = new Object[components.length];
        for (int n = 0; n < components.length; n++) {
            String name = wireName(components[n].getName());
            values[n] = name.equals("raw") ? raw : value(components[n].getGenericType(), members.get(name), name);
        }
        try {
            Class<?>[] types = Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
            Constructor<R> constructor = kind.getDeclaredConstructor(types);
            return constructor.newInstance(values);
        } catch (ReflectiveOperationException error) {
            throw new AssertionError(error); // a record always has this constructor
        }
    }

    /** How the API spells a name of Java: {@code requestId} is {@code request_id}. */
    static String wireName(String name) {
        return name.replaceAll("(?<!^)(?=[A-Z])", "_").toLowerCase(Locale.ROOT);
    }

    /** A JSON object, or {@code IllegalArgumentException}. */
    static Map<String, Object> object(Object said) {
        if (said instanceof Members members) {
            return members;
        }
        throw new IllegalArgumentException("an object is missing");
    }

    /** A list of what is read from each of a JSON array. */
    static <R extends Record> List<R> list(Class<R> kind, Object said) {
        if (said instanceof List<?> items) {
            return items.stream().map(each -> read(kind, each)).toList();
        }
        throw new IllegalArgumentException("a list is missing");
    }

    private static Object value(Type type, Object said, String name) {
        if (type instanceof ParameterizedType parted) {
            Type inner = parted.getActualTypeArguments()[0];
            if (parted.getRawType() == Optional.class) {
                return said == null ? Optional.empty() : Optional.of(value(inner, said, name));
            }
            if (parted.getRawType() == List.class && said instanceof List<?> items) {
                return items.stream().map(each -> value(inner, each, name)).toList();
            }
            if (parted.getRawType() == Map.class && said instanceof Members) {
                return said;
            }
        } else if (type instanceof Class<?> kind && said != null) {
            Object made = plain(kind, said);
            if (made != null) {
                return made;
            }
        }
        throw new IllegalArgumentException(name + " is missing, or of another type");
    }

    /** A value of a type that has no parameters; null where it cannot be one. */
    private static Object plain(Class<?> kind, Object said) {
        if (kind.isRecord()) {
            return read(kind.asSubclass(Record.class), said);
        }
        if (said instanceof String text) {
            return word(kind, text);
        }
        if (said instanceof Boolean) {
            return kind == boolean.class || kind == Boolean.class ? said : null;
        }
        if (said instanceof Number number) {
            return number(kind, number);
        }
        return null;
    }

    private static Object word(Class<?> kind, String text) {
        try {
            if (kind == Instant.class) {
                return OffsetDateTime.parse(text).toInstant();
            }
            if (kind == LocalDate.class) {
                return LocalDate.parse(text);
            }
        } catch (DateTimeException error) {
            throw new IllegalArgumentException("a time is none", error);
        }
        return kind == String.class || kind == Object.class ? text : null;
    }

    private static Object number(Class<?> kind, Number number) {
        if (kind == int.class) {
            return number instanceof Long whole && whole == whole.intValue() ? (Object) whole.intValue() : null;
        }
        if (kind == double.class || kind == Double.class) {
            return number.doubleValue();
        }
        if (kind == BigDecimal.class) {
            return decimal(number);
        }
        return kind == Object.class ? number : null;
    }

    private static BigDecimal decimal(Number number) {
        if (number instanceof BigDecimal decimal) {
            return decimal;
        }
        return number instanceof BigInteger whole ? new BigDecimal(whole) : BigDecimal.valueOf(number.longValue());
    }
}
