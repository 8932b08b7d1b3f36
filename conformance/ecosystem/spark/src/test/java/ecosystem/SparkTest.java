package ecosystem;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.List;
import java.util.UUID;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.Test;

/** A table by abfss: written by tasks whose output is renamed when it is committed, and read again. */
public class SparkTest {
    private static final int ROWS = 20_000;
    private static SparkSession spark;
    private static String root;

    @BeforeClass
    public static void start() {
        String account = "devstorelake1.dfs.core.windows.net";
        root = "abfss://spark" + UUID.randomUUID().toString().substring(0, 8) + "@" + account;
        spark = SparkSession.builder()
                .master("local[2]")
                .config("spark.ui.enabled", false)
                .config("spark.sql.shuffle.partitions", 4)
                .config("spark.hadoop.fs.azure.abfs.endpoint", System.getProperty("lazuli.endpoint"))
                .config("spark.hadoop.fs.azure.account.key." + account, System.getProperty("lazuli.key"))
                .config("spark.hadoop.fs.azure.ssl.channel.mode", "Default_JSSE")
                .config("spark.hadoop.fs.azure.createRemoteFileSystemDuringInitialization", true)
                .getOrCreate();
    }

    @AfterClass
    public static void stop() {
        spark.stop();
    }

    private static Dataset<Row> numbers() {
        return spark.range(0, ROWS, 1, 8)
                .withColumn("day", functions.col("id").mod(5))
                .withColumn("text", functions.concat(functions.lit("row "), functions.col("id")))
                .toDF();
    }

    private static List<String> names(String path) throws Exception {
        Path at = new Path(path);
        FileStatus[] found = at.getFileSystem(spark.sparkContext().hadoopConfiguration()).listStatus(at);
        return java.util.Arrays.stream(found).map(status -> status.getPath().getName()).toList();
    }

    @Test
    public void aTableIsWrittenCommittedAndRead() throws Exception {
        String table = root + "/warehouse/numbers";
        numbers().write().partitionBy("day").parquet(table);
        assertTrue(names(table).containsAll(List.of("_SUCCESS", "day=0", "day=4")));
        assertFalse("what was temporary is gone", names(table).contains("_temporary"));
        Dataset<Row> read = spark.read().parquet(table);
        assertEquals(ROWS, read.count());
        assertEquals(ROWS / 5, read.where("day = 3").count());
        long sum = read.agg(functions.sum("id")).first().getLong(0);
        assertEquals((long) ROWS * (ROWS - 1) / 2, sum);

        numbers().where("day = 1").write().mode(SaveMode.Append).partitionBy("day").parquet(table);
        assertEquals(ROWS + ROWS / 5, spark.read().parquet(table).count());
        numbers().where("day < 2").write().mode(SaveMode.Overwrite).partitionBy("day").parquet(table);
        assertEquals(2 * ROWS / 5, spark.read().parquet(table).count());
        assertFalse(names(table).contains("day=3"));
    }

    @Test
    public void aTableIsRenamedAsAWhole() throws Exception {
        String staged = root + "/staging/table", final_ = root + "/published/table";
        numbers().write().json(staged);
        FileSystem files = new Path(root).getFileSystem(spark.sparkContext().hadoopConfiguration());
        assertTrue(files.mkdirs(new Path(root + "/published")));
        assertTrue(files.rename(new Path(staged), new Path(final_)));
        assertFalse(files.exists(new Path(staged)));
        assertEquals(ROWS, spark.read().json(final_).count());
    }
}
