package ecosystem

import (
	"context"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/queueerror"
)

func newQueue(t *testing.T) *azqueue.QueueClient {
	service := must(azqueue.NewServiceClientFromConnectionString(connectionString(t), nil))(t)
	client := service.NewQueueClient(unique("go"))
	must(client.Create(context.Background(), nil))(t)
	return client
}

func TestQueueHandsAMessageToOne(t *testing.T) {
	ctx, client := context.Background(), newQueue(t)
	for _, text := range []string{"first", "second <&>", "third"} {
		must(client.EnqueueMessage(ctx, text, nil))(t)
	}
	got := must(client.DequeueMessage(ctx, nil))(t).Messages[0]
	if *got.MessageText != "first" || *got.DequeueCount != 1 {
		t.Fatalf("%q, seen %d times", *got.MessageText, *got.DequeueCount)
	}
	next := must(client.DequeueMessage(ctx, nil))(t).Messages[0]
	if *next.MessageText != "second <&>" {
		t.Fatalf("then came %q", *next.MessageText)
	}
	shown := int32(0)
	updated := must(client.UpdateMessage(ctx, *got.MessageID, *got.PopReceipt, "first, again", &azqueue.UpdateMessageOptions{VisibilityTimeout: &shown}))(t)
	if _, err := client.DeleteMessage(ctx, *got.MessageID, *got.PopReceipt, nil); !queueerror.HasCode(err, queueerror.MessageNotFound) {
		t.Fatalf("a stale receipt was answered %v", err)
	}
	must(client.DeleteMessage(ctx, *got.MessageID, *updated.PopReceipt, nil))(t)
	must(client.DeleteMessage(ctx, *next.MessageID, *next.PopReceipt, nil))(t)
	left := must(client.PeekMessage(ctx, nil))(t).Messages
	if len(left) != 1 || *left[0].MessageText != "third" {
		t.Fatalf("%d messages are left", len(left))
	}
	must(client.ClearMessages(ctx, nil))(t)
	count := must(client.GetProperties(ctx, nil))(t).ApproximateMessagesCount
	if *count != 0 {
		t.Fatalf("%d messages after a clear", *count)
	}
}
