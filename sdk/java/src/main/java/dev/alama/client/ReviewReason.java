package dev.alama.client;

/**
 * Why an officer decided so; a word of a later version can be made.
 *
 * @param word how the API spells it
 */
public record ReviewReason(String word) {
    /** {@code income_verified} */
    public static final ReviewReason INCOME_VERIFIED = new ReviewReason("income_verified");

    /** {@code documents_checked} */
    public static final ReviewReason DOCUMENTS_CHECKED = new ReviewReason("documents_checked");

    /** {@code known_customer} */
    public static final ReviewReason KNOWN_CUSTOMER = new ReviewReason("known_customer");

    /** {@code guaranteed} */
    public static final ReviewReason GUARANTEED = new ReviewReason("guaranteed");

    /** {@code data_corrected} */
    public static final ReviewReason DATA_CORRECTED = new ReviewReason("data_corrected");

    /** {@code cannot_afford} */
    public static final ReviewReason CANNOT_AFFORD = new ReviewReason("cannot_afford");

    /** {@code identity_doubted} */
    public static final ReviewReason IDENTITY_DOUBTED = new ReviewReason("identity_doubted");

    /** {@code fraud_suspected} */
    public static final ReviewReason FRAUD_SUSPECTED = new ReviewReason("fraud_suspected");

    /** {@code outside_policy} */
    public static final ReviewReason OUTSIDE_POLICY = new ReviewReason("outside_policy");

    /** {@code other} */
    public static final ReviewReason OTHER = new ReviewReason("other");
}
