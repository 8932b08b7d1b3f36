package ecosystem;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.azure.core.util.Context;
import com.azure.storage.queue.QueueClient;
import com.azure.storage.queue.QueueServiceClientBuilder;
import com.azure.storage.queue.models.QueueErrorCode;
import com.azure.storage.queue.models.QueueMessageItem;
import com.azure.storage.queue.models.QueueStorageException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class QueueTest {
    @Test
    void aMessageHasOneHolder() {
        QueueClient queue = new QueueServiceClientBuilder().connectionString(Server.CONNECTION_STRING).buildClient().createQueue(Server.unique());
        queue.sendMessage("first");
        queue.sendMessage("second <&>");
        QueueMessageItem first = queue.receiveMessage();
        assertEquals("first", first.getBody().toString());
        assertEquals(1, first.getDequeueCount());
        assertEquals("second <&>", queue.receiveMessages(32).stream().toList().get(0).getBody().toString());
        var updated = queue.updateMessage(first.getMessageId(), first.getPopReceipt(), "again", Duration.ZERO);
        var stale = assertThrows(
                QueueStorageException.class, () -> queue.deleteMessage(first.getMessageId(), first.getPopReceipt()));
        assertEquals(QueueErrorCode.MESSAGE_NOT_FOUND, stale.getErrorCode());
        assertEquals("again", queue.peekMessage().getBody().toString());
        queue.deleteMessageWithResponse(first.getMessageId(), updated.getPopReceipt(), null, Context.NONE);
        assertEquals(1, queue.getProperties().getApproximateMessagesCount());
        queue.clearMessages();
        assertEquals(0, queue.getProperties().getApproximateMessagesCount());
    }
}
