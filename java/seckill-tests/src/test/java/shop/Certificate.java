package shop;

import io.github.seckill.test.SeckillServer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;

/**
 * A key and a certificate that vouches for itself. Server and client have the same one and trust no
 * other.
 *
 * @param tlsPort a port that was free
 */
record Certificate(Path certificate, Path key, int tlsPort) {
    private static final String PASSWORD = "changeit";

    static Certificate make(Path folder)
            throws IOException, GeneralSecurityException, InterruptedException {
        Path store = folder.resolve("store.p12");
        List<String> line = List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair", "-alias", "shop", "-keyalg", "EC", "-groupname", "secp256r1",
                "-dname", "CN=shop", "-ext", "san=ip:127.0.0.1", "-ext", "bc=ca:true",
                "-startdate", "-1d", "-validity", "3", "-storetype", "PKCS12",
                "-keystore", store.toString(), "-storepass", PASSWORD);
        Process keytool = new ProcessBuilder(line).redirectErrorStream(true).start();
        String printed =
                new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (keytool.waitFor() != 0) {
            throw new IOException("keytool failed: " + printed);
        }
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, PASSWORD.toCharArray());
        }
        byte[] key = keys.getKey("shop", PASSWORD.toCharArray()).getEncoded();
        byte[] certificate = keys.getCertificate("shop").getEncoded();
        return new Certificate(
                Files.writeString(folder.resolve("cert.pem"), pem("CERTIFICATE", certificate)),
                Files.writeString(folder.resolve("key.pem"), pem("PRIVATE KEY", key)),
                SeckillServer.freePort());
    }

    private static String pem(String label, byte[] content) {
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
        return "-----BEGIN " + label + "-----\n" + text + "\n-----END " + label + "-----\n";
    }

    /** With which a server listens for TLS, too, and wants to see this certificate. */
    String[] serverOptions() {
        return new String[] {
            "--tls-port", String.valueOf(tlsPort), "--tls-auth-clients", "yes",
            "--tls-cert-file", certificate.toString(), "--tls-key-file", key.toString(),
            "--tls-ca-cert-file", certificate.toString()
        };
    }

    /** The properties of an SSL bundle of Spring Boot. */
    List<String> bundle(String name) {
        String bundle = "spring.ssl.bundle.pem." + name;
        return List.of(
                bundle + ".keystore.certificate=file:" + certificate,
                bundle + ".keystore.private-key=file:" + key,
                bundle + ".truststore.certificate=file:" + certificate);
    }
}
