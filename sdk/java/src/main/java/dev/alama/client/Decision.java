package dev.alama.client;

import java.math.BigDecimal;

/** A score and what follows from it. */
public interface Decision extends Answer {
    /** From 300 to 850; more is better. */
    int score();

    /** From A, the best, to E. */
    String tier();

    /** The probability that the loan is not paid back. */
    double defaultProbability();

    /** {@code APPROVED}, {@code DECLINED} or {@code REVIEW}: an open set, so expect more words. */
    String decision();

    /** The most to lend, in the lender's currency. */
    BigDecimal recommendedLimit();

    /** For how long. */
    int recommendedTermDays();

    /** At which price, in percent a year. */
    double recommendedApr();
}
