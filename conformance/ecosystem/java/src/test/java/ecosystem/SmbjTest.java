package ecosystem;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.hierynomus.msdtyp.AccessMask;
import com.hierynomus.msfscc.fileinformation.FileIdBothDirectoryInformation;
import com.hierynomus.mssmb2.SMB2CreateDisposition;
import com.hierynomus.mssmb2.SMB2Dialect;
import com.hierynomus.mssmb2.SMB2ShareAccess;
import com.hierynomus.mssmb2.SMBApiException;
import com.hierynomus.smbj.SMBClient;
import com.hierynomus.smbj.SmbConfig;
import com.hierynomus.smbj.auth.AuthenticationContext;
import com.hierynomus.smbj.connection.Connection;
import com.hierynomus.smbj.session.Session;
import com.hierynomus.smbj.share.DiskShare;
import com.hierynomus.smbj.share.File;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.EnumSet;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** smbj: a tree of files up, down, listed, renamed and deleted, signed and encrypted, in each dialect that it speaks. */
class SmbjTest {
    private static AuthenticationContext who(String key) {
        return new AuthenticationContext(Server.ACCOUNT, key.toCharArray(), "AZURE");
    }

    private static byte[] read(DiskShare share, String path) throws Exception {
        try (File file = open(share, path, AccessMask.GENERIC_READ, SMB2CreateDisposition.FILE_OPEN);
                InputStream in = file.getInputStream()) {
            return in.readAllBytes();
        }
    }

    private static File open(DiskShare share, String path, AccessMask access, SMB2CreateDisposition disposition) {
        return share.openFile(path, EnumSet.of(access), null, SMB2ShareAccess.ALL, disposition, null);
    }

    private static List<String> names(DiskShare share, String path) {
        return share.list(path).stream()
                .map(FileIdBothDirectoryInformation::getFileName)
                .filter(name -> !name.equals(".") && !name.equals(".."))
                .sorted()
                .toList();
    }

    @ParameterizedTest
    @CsvSource({"SMB_2_1,false", "SMB_3_0,false", "SMB_3_0,true", "SMB_3_1_1,false", "SMB_3_1_1,true"})
    void tree(SMB2Dialect dialect, boolean encrypted) throws Exception {
        String name = Server.unique();
        ShareTest.service().createShare(name);
        SmbConfig config = SmbConfig.builder()
                .withDialects(dialect)
                .withSigningRequired(true)
                .withEncryptData(encrypted)
                .build();
        try (SMBClient client = new SMBClient(config);
                Connection connection = client.connect("127.0.0.1", Server.SMB_PORT);
                Session session = connection.authenticate(who(Server.KEY));
                DiskShare share = (DiskShare) session.connectShare(name)) {
            assertEquals(dialect, connection.getNegotiatedProtocol().getDialect());
            share.mkdir("tree");
            share.mkdir("tree\\deep");
            for (int at = 0; at < Server.LENGTHS.length; at++) {
                String path = "tree\\deep\\" + at;
                try (File file = open(share, path, AccessMask.GENERIC_WRITE, SMB2CreateDisposition.FILE_CREATE);
                        OutputStream out = file.getOutputStream()) {
                    out.write(Server.pattern(Server.LENGTHS[at]));
                }
            }
            assertEquals(List.of("0", "1", "2", "3", "4"), names(share, "tree\\deep"));
            for (int at = 0; at < Server.LENGTHS.length; at++) {
                String path = "tree\\deep\\" + at;
                assertArrayEquals(Server.pattern(Server.LENGTHS[at]), read(share, path), path);
                EnumSet<AccessMask> access = EnumSet.of(AccessMask.DELETE, AccessMask.FILE_READ_ATTRIBUTES);
                try (File file = share.openFile(
                        path, access, null, SMB2ShareAccess.ALL, SMB2CreateDisposition.FILE_OPEN, null)) {
                    file.rename("tree\\moved" + at);
                }
            }
            assertEquals(List.of(), names(share, "tree\\deep"));
            assertFalse(share.fileExists("tree\\deep\\4"));
            assertArrayEquals(Server.pattern(3_000_000), read(share, "tree\\moved4"));
            share.rm("tree\\moved0");
            share.rmdir("tree", true);
            assertEquals(List.of(), names(share, ""));
        }
    }

    @Test
    void strangers() throws Exception {
        try (SMBClient client = new SMBClient();
                Connection connection = client.connect("127.0.0.1", Server.SMB_PORT)) {
            assertThrows(SMBApiException.class, () -> connection.authenticate(who("wrong")));
        }
        try (SMBClient client = new SMBClient();
                Connection connection = client.connect("127.0.0.1", Server.SMB_PORT)) {
            assertThrows(Exception.class, () -> connection.authenticate(AuthenticationContext.anonymous()));
        }
    }
}
