package ecosystem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func newTable(t *testing.T) *aztables.Client {
	service := must(aztables.NewServiceClientFromConnectionString(connectionString(t), nil))(t)
	name := unique("go")
	must(service.CreateTable(context.Background(), name, nil))(t)
	return service.NewClient(name)
}

func entity(t *testing.T, partition, row string, properties map[string]any) []byte {
	value := aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: partition, RowKey: row}, Properties: properties}
	return must(json.Marshal(value))(t)
}

func codeOf(err error) string {
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		return answer.ErrorCode
	}
	return fmt.Sprint(err)
}

func TestTableTypesAndConditions(t *testing.T) {
	ctx, client := context.Background(), newTable(t)
	properties := map[string]any{"Big": aztables.EDMInt64(1 << 60), "Blob": aztables.EDMBinary("\x00\xff"), "Name": "O'Hara", "Ratio": 1.5, "Yes": true}
	added := must(client.AddEntity(ctx, entity(t, "p", "r", properties), nil))(t)
	if _, err := client.AddEntity(ctx, entity(t, "p", "r", nil), nil); codeOf(err) != "EntityAlreadyExists" {
		t.Fatalf("a second insert was answered %v", err)
	}
	var got aztables.EDMEntity
	check(t, json.Unmarshal(must(client.GetEntity(ctx, "p", "r", nil))(t).Value, &got))
	if got.Properties["Big"] != aztables.EDMInt64(1<<60) || string(got.Properties["Blob"].(aztables.EDMBinary)) != "\x00\xff" || got.Properties["Name"] != "O'Hara" {
		t.Fatalf("%v", got.Properties)
	}
	merge := &aztables.UpdateEntityOptions{IfMatch: &added.ETag, UpdateMode: aztables.UpdateModeMerge}
	must(client.UpdateEntity(ctx, entity(t, "p", "r", map[string]any{"Name": "Ada"}), merge))(t)
	if _, err := client.UpdateEntity(ctx, entity(t, "p", "r", nil), merge); codeOf(err) != "UpdateConditionNotSatisfied" {
		t.Fatalf("a stale ETag was answered %v", err)
	}
}

func TestTableTransactionsAreWhole(t *testing.T) {
	ctx, client := context.Background(), newTable(t)
	actions := []aztables.TransactionAction{}
	for at := range 100 {
		row := entity(t, "batch", fmt.Sprintf("%03d", at), map[string]any{"Number": at})
		actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: row})
	}
	must(client.SubmitTransaction(ctx, actions, nil))(t)
	clash := []aztables.TransactionAction{
		{ActionType: aztables.TransactionTypeAdd, Entity: entity(t, "batch", "new", nil)},
		{ActionType: aztables.TransactionTypeAdd, Entity: entity(t, "batch", "007", nil)},
	}
	if _, err := client.SubmitTransaction(ctx, clash, nil); err == nil {
		t.Fatal("a transaction with a clash was taken")
	}
	if _, err := client.GetEntity(ctx, "batch", "new", nil); codeOf(err) != "ResourceNotFound" {
		t.Fatalf("half of a transaction is there: %v", err)
	}
	filter, top, count, pages := "Number ge 10 and Number lt 60", int32(20), 0, 0
	for pager := client.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &filter, Top: &top}); pager.More(); pages++ {
		count += len(must(pager.NextPage(ctx))(t).Entities)
	}
	if count != 50 || pages < 3 {
		t.Fatalf("%d entities in %d pages", count, pages)
	}
}
