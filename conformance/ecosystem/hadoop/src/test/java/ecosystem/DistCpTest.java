package ecosystem;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.azurebfs.contract.ITestAbfsFileSystemContractDistCp;

/**
 * The connector's own tests of DistCp. The service tells times in whole seconds, the local file system in fractions of them: a file that is copied
 * within the second in which it was made looks older than its source, and {@code distcp -update} copies it again. Over a distant network no copy is
 * that quick. So the two tests that copy twice and expect nothing to be copied again compare lengths and not times.
 */
public class DistCpTest extends ITestAbfsFileSystemContractDistCp {
  public DistCpTest() throws Exception {}

  @Override
  protected Configuration createConfiguration() {
    Configuration configuration = super.createConfiguration();
    configuration.setBoolean("distcp.update.modification.time", !testName.getMethodName().startsWith("testUpdateDeepDirectoryStructure"));
    return configuration;
  }
}
