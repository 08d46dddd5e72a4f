// The one annotation of the generated code that its generator does not bring along; it does nothing.
package javax.annotation;

public @interface Generated {
    String[] value();

    String date() default "";

    String comments() default "";
}
