package dev.alama.client;

import java.util.Optional;

/**
 * One row of {@link Alama#scoreMany}: its score, or what kept it from having one.
 *
 * @param index which application it is of, counted from 0
 */
public record Scored(int index, Application application, Optional<Score> score, Optional<AlamaError> error) {
    /** The score, or throw the error. */
    public Score result() {
        return score.orElseThrow(error::get);
    }
}
