package ecosystem;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.azure.core.util.Context;
import com.azure.data.tables.TableClient;
import com.azure.data.tables.TableServiceClientBuilder;
import com.azure.data.tables.models.ListEntitiesOptions;
import com.azure.data.tables.models.TableEntity;
import com.azure.data.tables.models.TableEntityUpdateMode;
import com.azure.data.tables.models.TableServiceException;
import com.azure.data.tables.models.TableTransactionAction;
import com.azure.data.tables.models.TableTransactionActionType;
import com.azure.data.tables.models.TableTransactionFailedException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TableTest {
    private final TableClient table =
            new TableServiceClientBuilder().connectionString(Server.CONNECTION_STRING).buildClient().createTable(Server.unique());

    @Test
    void typesAndConditions() {
        byte[] bytes = {0, (byte) 255};
        table.createEntity(new TableEntity("p", "r").addProperty("Big", 1L << 60).addProperty("Bytes", bytes).addProperty("Name", "O'Hara"));
        TableEntity got = table.getEntity("p", "r");
        assertEquals(1L << 60, got.getProperty("Big"));
        assertArrayEquals(bytes, (byte[]) got.getProperty("Bytes"));
        table.updateEntity(new TableEntity("p", "r").addProperty("Name", "Ada"), TableEntityUpdateMode.MERGE);
        got.addProperty("Name", "Grace");
        var stale = assertThrows(
                TableServiceException.class,
                () -> table.updateEntityWithResponse(got, TableEntityUpdateMode.REPLACE, true, null, Context.NONE));
        assertEquals(412, stale.getResponse().getStatusCode());
        assertEquals("Ada", table.getEntity("p", "r").getProperty("Name"));
    }

    @Test
    void transactionsAreWhole() {
        List<TableTransactionAction> actions = new ArrayList<>();
        for (int at = 0; at < 100; at++) {
            TableEntity entity = new TableEntity("batch", "%03d".formatted(at)).addProperty("Number", at);
            actions.add(new TableTransactionAction(TableTransactionActionType.CREATE, entity));
        }
        table.submitTransaction(actions);
        List<TableTransactionAction> clash = List.of(
                new TableTransactionAction(TableTransactionActionType.CREATE, new TableEntity("batch", "new")),
                new TableTransactionAction(TableTransactionActionType.CREATE, new TableEntity("batch", "007")));
        assertThrows(TableTransactionFailedException.class, () -> table.submitTransaction(clash));
        assertThrows(TableServiceException.class, () -> table.getEntity("batch", "new"));
        var some = new ListEntitiesOptions().setFilter("Number ge 10 and Number lt 60").setTop(20);
        assertEquals(50, table.listEntities(some, null, null).stream().count());
    }
}
