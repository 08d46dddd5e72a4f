/** Client of Alama, the self-hosted credit scoring service. */
module dev.alama.client {
    requires transitive java.net.http;

    exports dev.alama.client;
}
