package dev.alama.client;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NoSuchElementException;

/**
 * What is said about an applicant; docs/fields.md has the units and ranges.
 *
 * <p>Required are months, inflow, stability and regularity, the first three in either spelling. Numbers may be of any
 * type: a {@code BigDecimal} is sent as it is.
 */
public final class Application {
    private final Map<String, Object> fields;

    private Application(Map<String, ?> fields) {
        this.fields = new Members(new LinkedHashMap<>(fields));
        Json.write(this.fields); // throws at once where one of them cannot be sent
    }

    /** Begin an application. */
    public static Builder builder() {
        return new Builder(Map.of());
    }

    /** Make an application of fields as the API spells them; {@link InvalidArgument} where one cannot be JSON. */
    public static Application of(Map<String, ?> fields) {
        return new Application(InvalidArgument.unlessNull(fields, "the fields"));
    }

    /** Begin another that has the same fields. */
    public Builder toBuilder() {
        return new Builder(fields);
    }

    /** The fields, as the API spells them. */
    public Map<String, Object> fields() {
        return fields;
    }

    /** The number of a field, as the API spells it; {@code NoSuchElementException} where it has none. */
    public double number(String field) {
        if (fields.get(field) instanceof Number number) {
            return number.doubleValue();
        }
        throw new NoSuchElementException(field);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Application application && fields.equals(application.fields);
    }

    @Override
    public int hashCode() {
        return fields.hashCode();
    }

    /** The names of the fields, and no values: those are of the applicant. */
    @Override
    public String toString() {
        return "Application" + fields;
    }

    /** An application that is being written. A field that is given as null is not sent. */
    public static final class Builder {
        private final Map<String, Object> fields;

        private Builder(Map<String, Object> fields) {
            this.fields = new LinkedHashMap<>(fields);
        }

        /** Give any field, as the API spells it. */
        public Builder with(String field, Object value) {
            if (value == null) {
                fields.remove(field);
            } else {
                fields.put(field, value);
            }
            return this;
        }

        /** The application as it is now; {@link InvalidArgument} where a field cannot be JSON, such as NaN. */
        public Application build() {
            return new Application(fields);
        }

        /** Months since the first mobile-money transaction. */
        public Builder mobileMoneyMonths(int mobileMoneyMonths) {
            return with("mobile_money_months", mobileMoneyMonths);
        }

        /** Mean money received per month. */
        public Builder monthlyInflow(Number monthlyInflow) {
            return with("monthly_inflow", monthlyInflow);
        }

        /** From 0 to 1: 1 where the daily balance hardly varies. */
        public Builder stabilityScore(Number stabilityScore) {
            return with("stability_score", stabilityScore);
        }

        /** Months since the first mobile-money transaction. The same as {@link #mobileMoneyMonths}. */
        public Builder mmMonths(int mmMonths) {
            return with("mm_months", mmMonths);
        }

        /** Mean money received per month. The same as {@link #monthlyInflow}. */
        public Builder avgInflow(Number avgInflow) {
            return with("avg_inflow", avgInflow);
        }

        /** Mean money sent or withdrawn per month. */
        public Builder avgOutflow(Number avgOutflow) {
            return with("avg_outflow", avgOutflow);
        }

        /** Mean end-of-day wallet balance. */
        public Builder avgBalance(Number avgBalance) {
            return with("avg_balance", avgBalance);
        }

        /** From 0 to 1: 1 where the daily balance hardly varies. The same as {@link #stabilityScore}. */
        public Builder balanceStability(Number balanceStability) {
            return with("balance_stability", balanceStability);
        }

        /** Distinct people and businesses paid or paying per month. */
        public Builder counterparties(int counterparties) {
            return with("counterparties", counterparties);
        }

        /** Transactions per month. */
        public Builder txFrequency(Number txFrequency) {
            return with("tx_frequency", txFrequency);
        }

        /** Share of transactions on the two weekend days, from 0 to 1. */
        public Builder weekendActivity(Number weekendActivity) {
            return with("weekend_activity", weekendActivity);
        }

        /** Mean airtime bought per month. */
        public Builder airtimeAvg(Number airtimeAvg) {
            return with("airtime_avg", airtimeAvg);
        }

        /** Airtime top-ups per month. */
        public Builder airtimeFreq(Number airtimeFreq) {
            return with("airtime_freq", airtimeFreq);
        }

        /** From 0 to 1: 1 where airtime is bought at even intervals. */
        public Builder airtimeRegularity(Number airtimeRegularity) {
            return with("airtime_regularity", airtimeRegularity);
        }

        /** Smartphone, feature_phone, basic_phone, tablet or another. */
        public Builder deviceType(String deviceType) {
            return with("device_type", deviceType);
        }

        /** Age of the device. */
        public Builder deviceAgeMonths(int deviceAgeMonths) {
            return with("device_age_months", deviceAgeMonths);
        }

        /** Amount asked for. */
        public Builder requestedAmount(Number requestedAmount) {
            return with("requested_amount", requestedAmount);
        }

        /** Days until the loan is due. */
        public Builder requestedTermDays(int requestedTermDays) {
            return with("requested_term_days", requestedTermDays);
        }

        /** Business, education, medical, agriculture or another. */
        public Builder loanPurpose(String loanPurpose) {
            return with("loan_purpose", loanPurpose);
        }

        /** Any place name the lender uses. */
        public Builder region(String region) {
            return with("region", region);
        }

        /** Due per month on other loans. */
        public Builder existingRepayments(Number existingRepayments) {
            return with("existing_repayments", existingRepayments);
        }

        /** Proof that fields were derived from a statement, as it came with them. */
        public Builder evidence(String evidence) {
            return with("evidence", evidence);
        }

        /** Which product of the lender's policy is asked for. */
        public Builder product(String product) {
            return with("product", product);
        }

        /** The lender's own opaque reference: no phone number, e-mail or national id. */
        public Builder applicantRef(String applicantRef) {
            return with("applicant_ref", applicantRef);
        }
    }
}
