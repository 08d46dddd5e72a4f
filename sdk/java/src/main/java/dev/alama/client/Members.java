package dev.alama.client;

import java.util.AbstractMap;
import java.util.Collections;
import java.util.Map;
import java.util.Set;

/** A JSON object that nobody changes; in logs it shows its names alone, since values can be of applicants. */
final class Members extends AbstractMap<String, Object> {
    private final Map<String, Object> members;

    Members(Map<String, Object> members) {
        this.members = Collections.unmodifiableMap(members);
    }

    @Override
    public Set<Entry<String, Object>> entrySet() {
        return members.entrySet();
    }

    @Override
    public Object get(Object name) {
        return members.get(name);
    }

    @Override
    public boolean containsKey(Object name) {
        return members.containsKey(name);
    }

    @Override
    public String toString() {
        return members.keySet().toString();
    }
}
