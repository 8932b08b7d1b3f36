package ecosystem;

import java.util.UUID;

/** The server under test. A missing one is a mistake of the caller, not a reason to skip. */
final class Server {
    static final String CONNECTION_STRING = required("LAZULI_CONNECTION_STRING");

    static final String ACCOUNT = part("AccountName");
    static final String KEY = part("AccountKey");
    static final String FILE_ENDPOINT = part("FileEndpoint");

    static final int SMB_PORT = Integer.parseInt(required("LAZULI_SMB_PORT"));

    /** What a tree of files has: empty, one byte, a block, a little more than a client's buffer, several requests. */
    static final int[] LENGTHS = {0, 1, 4096, 65537, 3_000_000};

    /** The account with a hierarchical namespace. Its key is that of the other development account. */
    static final String LAKE_ACCOUNT = "devstorelake1";

    static final String LAKE_ENDPOINT = required("LAZULI_LAKE_ENDPOINT");

    private Server() {}

    static String unique() {
        return "java" + UUID.randomUUID().toString().replace("-", "");
    }

    static byte[] pattern(int length) {
        byte[] content = new byte[length];
        for (int at = 0; at < length; at++) {
            content[at] = (byte) (at * 31 / 7);
        }
        return content;
    }

    private static String part(String name) {
        for (String part : CONNECTION_STRING.split(";")) {
            if (part.startsWith(name + "=")) {
                return part.substring(name.length() + 1);
            }
        }
        throw new IllegalStateException("the connection string has no " + name);
    }

    private static String required(String name) {
        String value = System.getenv(name);
        if (value == null) {
            throw new IllegalStateException(name + " is not set: use ./test ecosystem");
        }
        return value;
    }
}
